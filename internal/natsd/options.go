package natsd

import (
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// serverOptions translates; it reads the key file and the free disk space.
func serverOptions(o Options) (*server.Options, error) {
	host, port, err := address(o.Listen)
	if err != nil {
		return nil, err
	}
	key, err := storeKey(o)
	if err != nil {
		return nil, err
	}
	size := o.MaxStore
	if size == 0 {
		size = shareOfDisk(o.Dir)
	}
	opts := &server.Options{
		ServerName: "batchbus", DontListen: o.Listen == "", Host: host, Port: port,
		JetStream: true, StoreDir: o.Dir, JetStreamMaxStore: size, MaxPayload: MaxPayload,
		SyncAlways: o.SyncAlways, NoSigs: true, DisableJetStreamBanner: true,
	}
	if key != "" {
		opts.JetStreamKey, opts.JetStreamCipher = key, server.AES
	}
	return opts, nil
}

func address(listen string) (host string, port int, err error) {
	if listen == "" {
		return "", 0, nil
	}
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("parse listen address: %w", err)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("parse listen address: %q is no port", text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// shareOfDisk is 4/5 of what the store may grow to on its disk; what it already holds is counted, or the limit would
// shrink with every restart.
func shareOfDisk(dir string) int64 {
	return (freeDisk(dir) + sizeOf(dir)) / 5 * 4
}

func sizeOf(dir string) int64 {
	var total int64
	// A file that goes away while we look is not counted; the walk itself cannot fail in a way that matters for an estimate.
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // see above: an estimate
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

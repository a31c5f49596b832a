package main

import (
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// options are the command line; each has a twin in the environment, such as BATCHBUS_SIMULATOR_LISTEN.
type options struct {
	Listen        string        `default:"127.0.0.1:8090" help:"Address to listen on; port 0 picks a free one."`
	Data          string        `help:"Directory that keeps files, batches and ledger over restarts. Empty: nothing is kept." type:"path"`
	TLSCert       string        `name:"tls-cert" help:"Serve https with this certificate, PEM; it and the key are made, self-signed, when the key is missing. Clients trust it by SSL_CERT_FILE. Empty: http." type:"path"`
	TLSKey        string        `name:"tls-key" help:"Key of the certificate, PEM; with --tls-cert." type:"path"`
	TLSHosts      []string      `name:"tls-hosts" default:"localhost,127.0.0.1" help:"Hosts that a certificate made here is good for."`
	Health        bool          `help:"Ask whether a simulator with the same --listen takes connections, and exit with 0 or 1."`
	Seed          uint64        `default:"1" help:"Decides every answer, row failure and completion order."`
	Keys          []string      `help:"Accepted bearer keys. Empty: any key."`
	Models        []string      `help:"Known models. Empty: every name that does not begin with unknown/."`
	Windows       []string      `help:"Accepted completion windows, such as 24h or 20s; with --dialect openai rows that have not run by their end expire. Empty: 24h and 1h."`
	Latency       time.Duration `help:"Time between the creation of a batch and its first row."`
	RowsPerSecond float64       `help:"Pace of each batch. 0: as fast as possible."`
	FailureRate   float64       `help:"Share of rows that fail, 0 to 1."`
	MaxRows       int           `help:"Rows per file. 0: 50000; negative: no limit."`
	MaxFileBytes  int64         `help:"Bytes per file. 0: 200 MiB."`
	SweepInterval time.Duration `help:"How long after its last row a batch that nobody reads by id is listed as finalizing. 0: 10s, as the provider."`
	Fault         []string      `sep:"none" help:"What goes wrong, and when; any number of times. A JSON object, or kind:key=value,key=value such as late_row:share=0.01,count=-1,delay=5m. docs/provider.md lists the kinds."`
	Faults        string        `help:"File with a JSON array of such faults." type:"path"`
	Dialect       string        `enum:",openai" default:"" help:"Whose API is spoken. Empty: Doubleword's; openai: a plain OpenAI-shaped one."`
	SourceLimits  bool          `help:"Take the limits of the provider's source (100 MiB, any number of rows, 24h only) for what is not set."`
}

// config turns the options into the simulator's own settings.
func (o options) config() (simulator.Config, error) {
	var cfg simulator.Config
	if o.SourceLimits {
		cfg = simulator.SourceLimits()
	}
	if o.MaxRows != 0 {
		cfg.MaxRows = o.MaxRows
	}
	if o.MaxFileBytes != 0 {
		cfg.MaxFileBytes = o.MaxFileBytes
	}
	if len(o.Windows) > 0 {
		cfg.Windows = o.Windows
	}
	cfg.Seed, cfg.Dir, cfg.Keys, cfg.Models = o.Seed, o.Data, o.Keys, o.Models
	cfg.Latency, cfg.RowsPerSecond, cfg.FailureRate = o.Latency, o.RowsPerSecond, o.FailureRate
	cfg.SweepInterval = o.SweepInterval
	cfg.Dialect = simulator.Dialect(o.Dialect)
	faults, err := o.faults()
	cfg.Faults = faults
	return cfg, err
}

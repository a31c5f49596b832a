// Package natsd embeds a NATS server with JetStream, for the single-process modes (`batchbus run`, `batchbus dev`) and for tests.
//
// It is the only importer of nats-server. The server keeps everything in one directory:
//
//	<dir>/batchbus.lock   held while a server runs, so that a second one fails at once instead of corrupting the store
//	<dir>/batchbus.key    a keyed checksum that tells a right key file from a wrong one (only with encryption)
//	<dir>/jetstream/...   the streams, written by nats-server
//
// What survives what: an acknowledged publish is in the page cache when it is acknowledged. It survives the death of
// the process, kill -9 included. Power loss takes up to two minutes of it (nats-server's sync interval) unless
// [Options.SyncAlways] is on. A server that lives inside a service dies with it: for production run nats-server beside
// the services and keep this package for one machine.
package natsd

// Package app is the composition root: the only package that knows every service, and the only one that reads the environment.
//
// [Run] connects to the bus, makes or checks its topology, builds the services it was asked for and runs them until its context ends:
//
//	cmd/ingest, submitter, poller, collector ──► [Main] (flags, env twins) ──┐
//	cmd/batchbus run, dev ──► [OpenLocal] (embedded server, simulator) ──────┴──► Run(ctx, Options)
//
// The two ways differ in exactly two things, both in [Options]: how NATS is dialled, and the provider's base URL. Whoever stops first
// stops all: a service that returns before the context ends is a fault, and the others are drained.
package app

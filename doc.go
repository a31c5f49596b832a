// Package batchbus runs the services of batchbus inside a program of one's own: one of them, some or all, on the program's own connection to
// NATS, or on a server in the same process.
//
//	            your program
//	┌───────────────────────────────────────┐
//	│ pkg/client ── rows ──► *nats.Conn     │
//	│                           │           │      NATS JetStream
//	│ batchbus.Run(ctx, Config{Conn, Keys}) │ ◄──► all state, shared with any other replica
//	│                           │           │
//	│ pkg/client ◄─ results ────┘           │
//	└───────────────────────────────────────┘
//
// The guarantees are those of the programs in cmd/, which run the same code: any number of programs that embed batchbus, and of those services
// beside them, share one bus, and a kill of any of them at any moment loses nothing and pays for nothing twice.
//
// What goes in and comes out is package pkg/client, or plain NATS by the words of package pkg/events.
package batchbus

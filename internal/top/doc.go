// Package top is the live view of jobs for a terminal: what runs, how fast, what is held, with keys to look closer, cancel and resume. It asks
// the control API again and again, and holds nothing that a restart would lose.
//
//	              every interval                     keys
//	Source ──── jobs, batches ────► [Model] ◄──── ↑ ↓ enter / c r q
//	   ▲                               │
//	   └──── cancel, resume ───────────┴────► one text a screen
//
// [Model] is a model of the library bubbletea: Update decides, View draws, and whatever waits for the bus is a command beside them.
package top

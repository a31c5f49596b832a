// Package obs is what batchbus shows of itself to those who run it: metrics and health. It decides nothing.
//
//	service ── [Hooks] ──► [Metrics] ── counters ──────────────┐
//	provider client ── [Metrics.Transport] ── calls ───────────┤
//	bus ◄── [State], at scrapes and at most every 15 s ── gauges ┴─► registry ──► /metrics
//	service ── [Hooks].OnBeat ──► [Health] ────────────────────────► /livez, /readyz
//
// Counters tell what this process did, so they are summed over processes. Gauges tell how the bus is, by the word of whoever was asked, so
// of several processes the greatest counts. No label holds a job, a row, an id or a text of the provider.
package obs

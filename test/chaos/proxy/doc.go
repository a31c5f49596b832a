// Package proxy stands between batchbus and the two things it depends on, and does to the traffic what networks, servers and dying
// processes do: for tests, without root and without a word of batchbus' own code.
//
//	service ──► Bus ──► nats-server          service ──► Provider ──► simulator
//
// [Bus] reads the NATS protocol frame by frame. It keeps the order of frames in each direction, as TCP does, and can lose a publish's
// acknowledgement, send a publish or a delivery twice, lose a delivery or a consumer's ack, stall, and cut a connection in the middle of a
// frame. [Provider] is an http.Handler. It can answer for the provider before or after the provider acted, drop the connection before or
// after, shorten bodies, wait, and hand on a create long after its client has given up: the request that nobody waits for any more.
//
// # What a seed decides
//
// Whether and how the nth call of a kind is hit is a function of seed, name of the proxy, kind and n ([Dice]). So a seed replays the same
// plan of faults. It does not replay the run: which call is the nth, and what else goes on at the time, is the machine's scheduling.
//
// Faults begin with Storm and end with Calm: before and behind them the weather is fair. Every fault that hit is counted in a [Tally].
package proxy

// Package messages renders what more than one service publishes, results and dead letters, as bus messages: subject, headers, body.
// Both are published with expected last subject sequence 0, so whoever publishes the same one again finds it there.
package messages

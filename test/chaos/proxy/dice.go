package proxy

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Dice are the draws of one seed under one name: the same for equal arguments, in any order, from any goroutine.
type Dice struct {
	seed uint64
	name string
}

// NewDice makes the dice of a seed and a name, such as that of the process that a proxy stands before.
func NewDice(seed uint64, name string) Dice { return Dice{seed: seed, name: name} }

// At returns the random numbers of the nth call of a kind.
func (d Dice) At(kind string, n int64) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.name + "\x00" + kind)) // never fails
	//nolint:gosec // a plan that can be replayed is the point
	return rand.New(rand.NewPCG(d.seed^h.Sum64(), uint64(n)))
}

// hit tells whether the nth call of a kind is among the share that is hit.
func (d Dice) hit(kind string, n int64, share float64) bool {
	return share > 0 && d.At(kind, n).Float64() < share
}

// upTo draws a time from an eighth of most to most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	if most < 8 {
		return most
	}
	return most/8 + time.Duration(r.Int64N(int64(most-most/8)))
}

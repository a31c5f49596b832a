package rig

import (
	"bytes"
	"sync"
)

// maxTail is how much of a process's output a failed test shows.
const maxTail = 8 << 10

// output holds what a process printed. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the output.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// String is all of it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) tail() string {
	text := o.String()
	return text[max(0, len(text)-maxTail):]
}

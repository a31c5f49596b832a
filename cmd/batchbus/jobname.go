package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// jobNameChars is how many base32 characters of the SHA-256 a default job name holds: 130 bits.
const jobNameChars = 26

// jobName is the default name of a run: a function of everything that makes its answers, so that the same command finds its own job
// again, and a simulated run is never taken for a real one.
func jobName(inputs []input, queue string, p *events.Policy, options []byte, provider string) string {
	sum := sha256.New()
	for _, in := range inputs {
		fmt.Fprintf(sum, "file %s\n", in.digest)
	}
	window := cmp.Or(p.Window, events.DefaultPolicy().Window) // as it always was for those who name none
	fmt.Fprintf(sum, "queue %s\nwindow %s\ndefault_model %q\nmodel %q\nprovider %q\n", queue, window, p.DefaultModel, p.Model, provider)
	if len(options) > 0 {
		fmt.Fprintf(sum, "options %s\n", options)
	}
	name := base32.StdEncoding.EncodeToString(sum.Sum(nil))[:jobNameChars]
	return "run-" + strings.ToLower(name)
}

// inputDigest is what a job remembers of its input: the file's own SHA-256, or one over those of several files.
func inputDigest(inputs []input) string {
	if len(inputs) == 1 {
		return inputs[0].digest
	}
	sum := sha256.New()
	for _, in := range inputs {
		fmt.Fprintln(sum, in.digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// named is a job as commands of people name it: a queue that is not the default is part of the name.
func named(queue, job string) string {
	if queue == events.DefaultQueue {
		return job
	}
	return job + " --queue " + queue
}

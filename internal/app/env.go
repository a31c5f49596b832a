package app

import (
	"io"
	"os"
	"strings"
)

// Env is what a process gets from outside, passed in so that tests give their own.
type Env struct {
	Args           []string // without the program's name
	Lookup         func(name string) (string, bool)
	Names          func() []string // of all variables; nil: named API keys are not looked for
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// OS is the real environment.
func OS() Env {
	return Env{Args: os.Args[1:], Lookup: os.LookupEnv, Names: variables, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
}

func variables() []string {
	all := os.Environ()
	for i, entry := range all {
		all[i], _, _ = strings.Cut(entry, "=")
	}
	return all
}

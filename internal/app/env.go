package app

import (
	"io"
	"os"
)

// Env is what a process gets from outside, passed in so that tests give their own.
type Env struct {
	Args           []string // without the program's name
	Lookup         func(name string) (string, bool)
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// OS is the real environment.
func OS() Env {
	return Env{Args: os.Args[1:], Lookup: os.LookupEnv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
}

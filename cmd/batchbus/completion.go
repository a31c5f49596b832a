package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/completion"
)

type completionCommand struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// Help is shown below the flags. A test runs what is indented.
func (c *completionCommand) Help() string {
	return `Put the line into the start file of your shell: source <(batchbus completion bash), the same with zsh, or batchbus completion fish | source.

    batchbus completion bash`
}

// run prints the script that completes this command line.
func (c *completionCommand) run(_ context.Context, env app.Env) (int, error) {
	parser, err := kong.New(&commands{}, kong.Name("batchbus"))
	if err != nil {
		return app.ExitFault, fmt.Errorf("read command line: %w", err)
	}
	root := commandOf(parser.Model.Node)
	return app.ExitOK, flagError("SHELL", completion.Write(env.Stdout, c.Shell, &root))
}

// commandOf is a command as the flag library has it.
func commandOf(node *kong.Node) completion.Command {
	c := completion.Command{Name: node.Name, Help: node.Help}
	for _, flag := range node.Flags {
		if !flag.Hidden {
			c.Flags = append(c.Flags, flagOf(flag))
		}
	}
	if node.Parent != nil { // --help is the root's and can stand anywhere
		c.Flags = append(c.Flags, completion.Flag{Long: "help", Short: "h", Help: "Show context-sensitive help."})
	}
	for _, arg := range node.Positional {
		c.Files = c.Files || arg.Name == "file" || arg.Name == "a"
	}
	for _, child := range node.Children {
		if !child.Hidden {
			c.Commands = append(c.Commands, commandOf(child))
		}
	}
	return c
}

func flagOf(flag *kong.Flag) completion.Flag {
	f := completion.Flag{Long: flag.Name, Help: flag.Help, Value: completion.Text}
	if flag.Short != 0 {
		f.Short = string(flag.Short)
	}
	switch {
	case flag.IsBool() || flag.IsCounter():
		f.Value = completion.None
	case flag.PlaceHolder == "DIR" || flag.Name == "data":
		f.Value = completion.Folder
	case flag.PlaceHolder == "FILE" || flag.PlaceHolder == "OUT":
		f.Value = completion.File
	}
	return f
}

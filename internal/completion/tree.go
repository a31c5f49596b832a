package completion

import (
	"fmt"
	"io"
	"strings"
)

// Command is a command with what can follow it.
type Command struct {
	Name     string // Name is one word; that of the root is the program's.
	Help     string
	Flags    []Flag
	Commands []Command
	Files    bool // Files says that it takes files as arguments.
}

// Kinds of what follows a flag.
const (
	None   = ""       // None: nothing.
	Text   = "text"   // Text: what nobody can guess.
	File   = "file"   // File: a file.
	Folder = "folder" // Folder: a folder.
)

// Flag is a flag.
type Flag struct {
	Long  string // Long is its name without dashes.
	Short string // Short is one letter; empty: none.
	Help  string
	Value string // Value is the kind of what follows it.
}

// words are the flag as it is typed.
func (f *Flag) words() []string {
	if f.Short == "" {
		return []string{"--" + f.Long}
	}
	return []string{"--" + f.Long, "-" + f.Short}
}

// Write writes the script for a shell: bash, zsh or fish. The error says that it is another, or is that of w.
func Write(w io.Writer, shell string, root *Command) error {
	scripts := map[string]func(*Command) string{"bash": bash, "zsh": zsh, "fish": fish}
	script, known := scripts[shell]
	if !known {
		return fmt.Errorf("%q is not bash, zsh or fish", shell)
	}
	if _, err := io.WriteString(w, script(root)); err != nil {
		return fmt.Errorf("write completion: %w", err)
	}
	return nil
}

// place is a command and the way to it: "/" is the root, "/queues/get" a command below another.
type place struct {
	path string
	*Command
}

// places are all commands below one, which is the first.
func places(path string, c *Command) []place {
	all := []place{{path, c}}
	for i := range c.Commands {
		all = append(all, places(strings.TrimSuffix(path, "/")+"/"+c.Commands[i].Name, &c.Commands[i])...)
	}
	return all
}

// paths are those of all commands but the root, as alternatives of a case.
func paths(all []place) string {
	names := make([]string, 0, len(all))
	for _, p := range all[1:] {
		names = append(names, p.path)
	}
	return strings.Join(names, "|")
}

// wanting are the cases in which a flag's value of a kind is wanted: the path, a blank and the flag.
func wanting(all []place, kind string) string {
	var cases []string
	for _, p := range all {
		for i := range p.Flags {
			for _, word := range p.Flags[i].words() {
				if p.Flags[i].Value == kind {
					cases = append(cases, "'"+p.path+" "+word+"'")
				}
			}
		}
	}
	return strings.Join(cases, "|")
}

// short is the first sentence of a help text.
func short(help string) string {
	help, _, _ = strings.Cut(strings.ReplaceAll(help, "\n", " "), ". ")
	return strings.TrimSuffix(help, ".")
}

// quoted is a text in single quotes, as bash and zsh read it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

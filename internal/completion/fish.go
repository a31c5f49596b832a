package completion

import (
	"fmt"
	"strings"
)

func fish(root *Command) string {
	all := places("/", root)
	var out strings.Builder
	fmt.Fprintf(&out, `# fish completion of %[1]s: %[1]s completion fish | source
function __%[1]s_at
    set -l at /
    for word in (commandline -opc)[2..]
        set -l next (string trim -r -c / -- $at)/$word
        if contains -- $next %[2]s
            set at $next
        end
    end
    test "$at" = "$argv[1]"
end
complete -c %[1]s -f
`, root.Name, strings.ReplaceAll(paths(all), "|", " "))
	for _, p := range all {
		when := fmt.Sprintf("complete -c %s -n '__%s_at %s'", root.Name, root.Name, p.path)
		for i := range p.Commands {
			fmt.Fprintf(&out, "%s -a %s -d %s\n", when, p.Commands[i].Name, fishQuoted(short(p.Commands[i].Help)))
		}
		for i := range p.Flags {
			f := &p.Flags[i]
			out.WriteString(when + " -l " + f.Long)
			if f.Short != "" {
				out.WriteString(" -s " + f.Short)
			}
			out.WriteString(map[string]string{None: "", Text: " -x", File: " -r -F", Folder: " -x -a '(__fish_complete_directories)'"}[f.Value])
			fmt.Fprintf(&out, " -d %s\n", fishQuoted(short(f.Help)))
		}
		if p.Files {
			out.WriteString(when + " -F\n")
		}
	}
	return out.String()
}

// fishQuoted is a text in single quotes, in which fish reads a backslash.
func fishQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

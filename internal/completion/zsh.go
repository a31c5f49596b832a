package completion

import (
	"fmt"
	"strings"
)

func zsh(root *Command) string {
	all := places("/", root)
	var out strings.Builder
	fmt.Fprintf(&out, `#compdef %[1]s
# zsh completion of %[1]s: source <(%[1]s completion zsh), behind compinit; or the file _%[1]s in a folder of fpath
_%[1]s() {
    local at=/ i files=
    local -a commands flags
    for ((i = 2; i < CURRENT; i++)); do
        case "${at%%/}/${words[i]}" in
        (%[2]s) at="${at%%/}/${words[i]}" ;;
        esac
    done
    case "$at ${words[CURRENT-1]}" in
`, root.Name, paths(all))
	for _, c := range []struct{ kind, does string }{{Text, "_message 'a value'; return"}, {File, "_files; return"}, {Folder, "_files -/; return"}} {
		if cases := wanting(all, c.kind); cases != "" {
			fmt.Fprintf(&out, "    (%s) %s ;;\n", cases, c.does)
		}
	}
	out.WriteString("    esac\n    case \"$at\" in\n")
	for _, p := range all {
		fmt.Fprintf(&out, "    (%s)\n        commands=(%s)\n        flags=(%s)\n        files=%s ;;\n", p.path, described(p.Commands), describedFlags(p.Flags), yes(p.Files))
	}
	fmt.Fprintf(&out, `    esac
    if [[ $PREFIX == -* ]]; then
        _describe -o flag flags
    elif (( $#commands )); then
        _describe command commands
    elif [[ -n $files ]]; then
        _files
    fi
}
if [[ ${funcstack[1]-} == _%[1]s ]]; then
    _%[1]s "$@"
else
    compdef _%[1]s %[1]s
fi
`, root.Name)
	return out.String()
}

func described(all []Command) string {
	words := make([]string, 0, len(all))
	for i := range all {
		words = append(words, quoted(all[i].Name+":"+short(all[i].Help)))
	}
	return strings.Join(words, " ")
}

func describedFlags(all []Flag) string {
	var words []string
	for i := range all {
		for _, word := range all[i].words() {
			words = append(words, quoted(word+":"+short(all[i].Help)))
		}
	}
	return strings.Join(words, " ")
}

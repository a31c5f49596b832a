package completion

import (
	"fmt"
	"strings"
)

func bash(root *Command) string {
	all := places("/", root)
	var out strings.Builder
	fmt.Fprintf(&out, `# bash completion of %[1]s: source <(%[1]s completion bash)
_%[1]s() {
    local cur=${COMP_WORDS[COMP_CWORD]} at=/ i commands= flags= files= IFS=$' \t\n'
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${at%%/}/${COMP_WORDS[i]}" in
        %[2]s) at="${at%%/}/${COMP_WORDS[i]}" ;;
        esac
    done
    COMPREPLY=()
    case "$at ${COMP_WORDS[COMP_CWORD - 1]}" in
`, root.Name, paths(all))
	for _, c := range []struct{ kind, does string }{
		{Text, "return"},
		{File, `compopt -o filenames 2>/dev/null; IFS=$'\n'; COMPREPLY=($(compgen -f -- "$cur")); return`},
		{Folder, `compopt -o filenames 2>/dev/null; IFS=$'\n'; COMPREPLY=($(compgen -d -- "$cur")); return`},
	} {
		if cases := wanting(all, c.kind); cases != "" {
			fmt.Fprintf(&out, "    %s) %s ;;\n", cases, c.does)
		}
	}
	out.WriteString("    esac\n    case \"$at\" in\n")
	for _, p := range all {
		fmt.Fprintf(&out, "    %s) commands=%s flags=%s files=%s ;;\n", p.path, quoted(names(p.Commands)), quoted(flagWords(p.Flags)), yes(p.Files))
	}
	fmt.Fprintf(&out, `    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    elif [[ -n $commands ]]; then
        COMPREPLY=($(compgen -W "$commands" -- "$cur"))
    elif [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        IFS=$'\n'
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}
complete -F _%[1]s %[1]s
`, root.Name)
	return out.String()
}

func names(all []Command) string {
	words := make([]string, 0, len(all))
	for i := range all {
		words = append(words, all[i].Name)
	}
	return strings.Join(words, " ")
}

func flagWords(all []Flag) string {
	var words []string
	for i := range all {
		words = append(words, all[i].words()...)
	}
	return strings.Join(words, " ")
}

func yes(is bool) string {
	if is {
		return "y"
	}
	return ""
}

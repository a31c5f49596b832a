#!/usr/bin/env bash
# Runs every fuzz target of the module, one after another, for DURATION each (5s unless said), and prints a Markdown table of what was
# executed, as docs/rows.md gives it:
#
#   test/fuzz.sh [DURATION [TARGET…]]
#
# A crash ends it: go test has then written the input below the package's testdata/fuzz, where it is a seed from now on. Commit it with the fix.
# Inputs that are merely new stay in Go's cache and help the next run. They are not made smaller for long: that would eat the duration.
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1:-5s}
shift || true
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz runs one target. Go now and then takes the end of -fuzztime for a failure of its own ("context deadline exceeded", no input written:
# https://go.dev/issue/75804). That is a run that came to its end; a failure of the target names the line of a test or a failing input.
fuzz() {
  go test -run '^$' -fuzz "^$1\$" -fuzztime "$duration" -fuzzminimizetime 20x "./$2" >"$log" 2>&1 && return
  grep -qx '    context deadline exceeded' "$log" && ! grep -qE '_test\.go:[0-9]+|Failing input written|^panic|^    +fuzzing process' "$log"
}

printf '| Target | Package | Executions | In |\n|---|---|---|---|\n'
for folder in $(grep -rl --include='*_test.go' '^func Fuzz' cmd internal pkg test | xargs -n1 dirname | sort -u); do
  for target in $(grep -h '^func Fuzz' "$folder"/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/' | sort); do
    [ $# = 0 ] || [[ " $* " == *" $target "* ]] || continue
    if ! fuzz "$target" "$folder"; then
      cat "$log" >&2
      exit 1
    fi
    executions=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
    [ "${executions:-0}" -gt 0 ] || echo "$target: the machine was too busy to get beyond the seeds in $duration" >&2
    printf '| `%s` | `%s` | %s | %s |\n' "$target" "$folder" "${executions:-0}" "$duration"
  done
done

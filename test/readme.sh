#!/usr/bin/env bash
# Runs the first command of README.md as it stands there, in an empty folder's place, and checks what it ends with.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$1
command=$(sed -n 's/^\(go run .\/cmd\/batchbus run .*\)$/\1/p' README.md | head -n 1)
[ -n "$command" ] || { echo "README has no first command"; exit 1; }
echo "$command"
code=0
BATCHBUS_DATA="$scratch/data" BATCHBUS_OUT="$scratch/out" $command 2>"$scratch/stderr" || code=$?
cat "$scratch/stderr"
# go run reports any other code than 0 as 1; the built binary's own codes are tested in cmd/batchbus.
[ "$code" = 1 ] || { echo "exit code $code, want 1: the examples hold rows that fail"; exit 1; }
grep -q SIMULATED "$scratch/stderr" || { echo "it does not say that it is simulated"; exit 1; }
rows=$(grep -c . examples/requests.jsonl)
answers=$(cat "$scratch/out/output.jsonl" "$scratch/out/errors.jsonl" | grep -c .)
[ "$answers" = "$rows" ] || { echo "$answers answers to $rows rows"; exit 1; }
[ "$(grep -c . "$scratch/out/errors.jsonl")" = 2 ] || { echo "errors.jsonl should hold the failed and the rejected row"; exit 1; }
grep -q '"outcome":"failed"' "$scratch/out/errors.jsonl"
grep -q '"outcome":"rejected"' "$scratch/out/errors.jsonl"
echo "$answers answers to $rows rows, as expected"

#!/usr/bin/env bash
# Runs every fuzz target of the module, or of the packages given, for FUZZTIME (60s) each, one worker each, and ends
# with a line for each. A finding is kept by go test under the package's testdata and makes the exit status 1.
set -u
cd "$(dirname "$0")/.."
time=${FUZZTIME:-60s}
failed=0
for pkg in $(go list "${@:-./...}"); do
  for target in $(go test -run '^$' -list '^Fuzz' "$pkg" | grep '^Fuzz'); do
    if out=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x -parallel 1 "$pkg" 2>&1); then
      printf 'ok   %s %s: %s\n' "$pkg" "$target" "$(grep -o 'execs: [0-9]*' <<<"$out" | tail -n 1)"
    else
      printf 'FAIL %s %s\n%s\n' "$pkg" "$target" "$out"
      failed=1
    fi
  done
done
exit $failed

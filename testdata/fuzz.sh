#!/bin/sh
# Runs each fuzz target of the module for a while, one after the other.
#
#   GO=go FUZZTIME=10s fuzz.sh [PATTERN]
#
# PATTERN, a basic regular expression, selects targets by name. Inputs that fail are
# kept in testdata/fuzz beside the target, and every later test run tries them: commit
# them with the fix.
set -eu
cd "$(dirname "$0")/.."

failed=
targets=$(grep -rn --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*(f \*testing\.F)' . | LC_ALL=C sort)
targets=$(printf '%s\n' "$targets" |
	sed -n 's|^\(.*\)/[^/]*_test\.go:[0-9]*:func \(Fuzz[A-Za-z0-9_]*\)(.*|\1 \2|p' | grep " .*${1:-}" || true)
[ -n "$targets" ] || { echo "fuzz: no target matches ${1:-Fuzz}" >&2; exit 2; }
while read -r folder target; do
	echo "$folder $target, ${FUZZTIME:=10s}"
	# The corpus runs with the other tests, so none of them runs here.
	"${GO:-go}" test -vet=off -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" "$folder" || failed="$failed $target"
done <<TARGETS
$targets
TARGETS
[ -z "$failed" ] || { echo "fuzz: failures in$failed" >&2; exit 1; }

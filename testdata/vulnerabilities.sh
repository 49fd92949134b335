#!/bin/sh
# Checks the code that is called against the database of known vulnerabilities.
#
#   GO=go GOVULNCHECK=MODULE@VERSION vulnerabilities.sh FOLDER...
#
# The script fails on a vulnerability that is called. If the database is unreachable, it
# prints that nothing was checked, and succeeds, unless REQUIRE_VULNERABILITY_DATABASE is
# set: a release must have been checked.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOBIN=$bin "$go" install "$GOVULNCHECK"

for folder in "$@"; do
	code=0
	"$bin/govulncheck" -C "$folder" ./... >"$bin/output" 2>&1 || code=$?
	# 3: vulnerabilities were found; other codes: govulncheck itself failed.
	case $code in
	0 | 3)
		cat "$bin/output"
		[ "$code" = 0 ] || exit 1
		;;
	*)
		if ! grep -q 'fetching vulnerabilities' "$bin/output"; then
			cat "$bin/output" >&2
			exit 1
		fi
		if [ -n "${REQUIRE_VULNERABILITY_DATABASE:-}" ]; then
			echo "govulncheck of $folder: the database is unreachable ($(tail -n 1 "$bin/output"))" >&2
			exit 1
		fi
		echo "SKIPPED govulncheck of $folder: the database is unreachable ($(tail -n 1 "$bin/output"))"
		;;
	esac
done

#!/bin/sh
# Holds what the code calls against the database of known vulnerabilities.
#
#   GO=go GOVULNCHECK=MODULE@VERSION vulnerabilities.sh FOLDER...
#
# A vulnerability that is called fails. A database that cannot be reached does not:
# that says nothing of the code. It is said then that nothing was checked.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOBIN=$bin "$go" install "$GOVULNCHECK"

for folder in "$@"; do
	code=0
	"$bin/govulncheck" -C "$folder" ./... >"$bin/said" 2>&1 || code=$?
	# 3 are vulnerabilities; anything else went wrong before there was an answer.
	case $code in
	0 | 3)
		cat "$bin/said"
		[ "$code" = 0 ] || exit 1
		;;
	*)
		if ! grep -q 'fetching vulnerabilities' "$bin/said"; then
			cat "$bin/said" >&2
			exit 1
		fi
		echo "SKIPPED govulncheck of $folder: the database cannot be reached ($(tail -n 1 "$bin/said"))"
		;;
	esac
done

#!/bin/sh
# Builds the images twice, in different folders and once with an empty build cache,
# and fails if they differ. Takes as long as a first build.
#
#   IMAGE=NAME VERSION=V EPOCH=SECONDS twice.sh PLATFORM...
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$scratch/tree" "$scratch/first" "$scratch/second" "$scratch/cache"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 tar -c --ignore-failed-read) | tar -x -C "$scratch/tree"

"$root/e2e/image/archive.sh" "$scratch/first" "$@"
GOCACHE=$scratch/cache "$scratch/tree/e2e/image/archive.sh" "$scratch/second" "$@" >/dev/null
diff -r "$scratch/first" "$scratch/second"
echo "both builds are identical"

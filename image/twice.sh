#!/bin/sh
# Makes the images twice, in different folders, once with an empty build cache,
# and fails where they differ by one byte. Takes as long as a first build.
#
#   IMAGE=NAME VERSION=V EPOCH=SECONDS twice.sh PLATFORM...
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$scratch/tree" "$scratch/first" "$scratch/second" "$scratch/cache"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 tar -c --ignore-failed-read) | tar -x -C "$scratch/tree"

"$root/image/archive.sh" "$scratch/first" "$@"
GOCACHE=$scratch/cache "$scratch/tree/image/archive.sh" "$scratch/second" "$@" >/dev/null
diff -r "$scratch/first" "$scratch/second"
echo "two builds are the same"

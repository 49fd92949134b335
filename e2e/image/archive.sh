#!/bin/sh
# Builds the command for each platform and packs it into an image without an image
# builder.
#
#   IMAGE=NAME VERSION=V EPOCH=SECONDS archive.sh FOLDER PLATFORM...
#
# Writes audit-OS-ARCH.tar for each platform and oci/ with all of them to FOLDER.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
out=$1
shift

binaries=
for platform in "$@"; do
	os=${platform%%/*} arch=${platform#*/}
	binary=$out/audit-$os-$arch
	(cd "$root" && CGO_ENABLED=0 GOOS=$os GOARCH=$arch \
		go build -trimpath -buildvcs=false -ldflags "-s -w -X main.stamp=$VERSION" -o "$binary" ./cmd/audit)
	binaries="$binaries $platform=$binary"
done
cd "$root/e2e/image"
go run ./licenses -out "$out/THIRD_PARTY_LICENSES.md"
# shellcheck disable=SC2086 # split into words
go run . -tag "$IMAGE:$VERSION" -created "$EPOCH" -licenses "$out/THIRD_PARTY_LICENSES.md" -out "$out" $binaries

#!/bin/sh
# Builds the command for each platform and puts it into an image, without a
# builder of images.
#
#   IMAGE=NAME VERSION=V EPOCH=SECONDS archive.sh FOLDER PLATFORM...
#
# FOLDER gets audit-OS-ARCH.tar for each platform, and oci/ with all of them.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
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
cd "$root/image"
# shellcheck disable=SC2086 # the platforms are words
go run . -tag "$IMAGE:$VERSION" -created "$EPOCH" -out "$out" $binaries

#!/bin/sh
# Builds the image for each platform with the builder that is at hand.
#
#   IMAGE=NAME VERSION=V EPOCH=SECONDS build.sh PLATFORM...
#
# One platform makes IMAGE:VERSION, several make IMAGE:VERSION-ARCH each.
set -eu

cd -- "$(dirname -- "$0")/.."
# A docker without a daemon is none, nor is one that cannot find its storage.
builder=
for candidate in docker podman buildah; do
	if "$candidate" info >/dev/null 2>&1; then
		builder=$candidate
		break
	fi
done
case $builder in
docker) stamp="--build-arg SOURCE_DATE_EPOCH=$EPOCH" ;;
podman | buildah)
	stamp="--timestamp $EPOCH"
	# Older ones do not know where they are, and would look for a compiler that
	# runs on the machine that the image is for.
	case $(uname -m) in
	x86_64) stamp="$stamp --build-arg BUILDPLATFORM=linux/amd64" ;;
	aarch64 | arm64) stamp="$stamp --build-arg BUILDPLATFORM=linux/arm64" ;;
	esac
	;;
*)
	echo "make image: no docker, podman or buildah that works here; make image-archive needs none" >&2
	exit 1
	;;
esac
for platform in "$@"; do
	tag=$IMAGE:$VERSION
	[ $# -eq 1 ] || tag=$tag-${platform#*/}
	# shellcheck disable=SC2086 # an option and its value
	"$builder" build --platform "$platform" --build-arg VERSION="$VERSION" $stamp -t "$tag" .
done

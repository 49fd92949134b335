#!/bin/sh
# Builds the image for each platform with docker, podman or buildah.
#
#   IMAGE=NAME VERSION=V EPOCH=SECONDS build.sh PLATFORM...
#
# The tag is IMAGE:VERSION for a single platform, else IMAGE:VERSION-ARCH.
set -eu

cd -- "$(dirname -- "$0")/../.."
# Skip a docker without a daemon, and a builder that can't find its storage.
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
	# Older versions don't set BUILDPLATFORM and would pull the compiler for the
	# target platform.
	case $(uname -m) in
	x86_64) stamp="$stamp --build-arg BUILDPLATFORM=linux/amd64" ;;
	aarch64 | arm64) stamp="$stamp --build-arg BUILDPLATFORM=linux/arm64" ;;
	esac
	;;
*)
	echo "make image: no working docker, podman or buildah found; make image-archive needs none of them" >&2
	exit 1
	;;
esac
for platform in "$@"; do
	tag=$IMAGE:$VERSION
	[ $# -eq 1 ] || tag=$tag-${platform#*/}
	# shellcheck disable=SC2086 # options and their values
	"$builder" build --platform "$platform" --build-arg VERSION="$VERSION" $stamp -t "$tag" .
done

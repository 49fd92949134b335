#!/bin/sh
# Builds the parts of the test control plane into a cache outside the tree and
# prints the folder they are in. Where they are built already, this takes
# milliseconds: the folder's name is a digest of the pinned versions.
#
#   build.sh          build what is missing, print the folder
#   build.sh -print   print the folder, build nothing
#
# KUBEBUILDER_ASSETS, where set, is printed instead and nothing is built.
# AUDIT_TOOLS_DIR chooses the cache (default: the user's cache folder).
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	echo "$KUBEBUILDER_ASSETS"
	exit 0
fi

version=$(awk '$1 == "k8s.io/kubernetes" || $2 == "k8s.io/kubernetes" {for (i = 1; i <= NF; i++) if ($i ~ /^v[0-9]/) {print $i; exit}}' "$here/go.mod")
digest=$(cat "$here/go.mod" "$here/go.sum" | sha256sum | cut -c 1-12)
cache=${AUDIT_TOOLS_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/eventuallytrue-audit}
bin=$cache/tools-$version-$digest

if [ "${1:-}" = -print ]; then
	echo "$bin"
	exit 0
fi
mkdir -p "$bin"

# build NAME PACKAGE [GO FLAG...]: each binary is built under another name and
# renamed when whole, so an interrupted build leaves nothing that looks done.
build() {
	name=$1 package=$2
	shift 2
	[ -x "$bin/$name" ] && return 0
	echo "building $name (once; minutes on a cold cache)" >&2
	(cd "$here" && CGO_ENABLED=0 GOWORK=off go build -trimpath "$@" -o "$bin/.$name.$$" "$package") >&2
	mv "$bin/.$name.$$" "$bin/$name"
}

# Without a stamped version the server calls itself v0.0.0-master, and clients
# that look at the version misbehave.
minor=${version#v*.}
minor=${minor%%.*}
stamp="-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor"

build etcd go.etcd.io/etcd/server/v3 -ldflags "-s -w"
build kubectl k8s.io/kubernetes/cmd/kubectl -ldflags "$stamp"
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver -ldflags "$stamp"
echo "$bin"

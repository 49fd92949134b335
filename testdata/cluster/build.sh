#!/bin/sh
# Builds the programs that tests need into a cache outside the tree and prints their
# folder. If they are already built, this takes milliseconds: the name of the folder
# is a digest of the versions pinned here and in go.mod.
#
#   build.sh [SET...]  build what is missing, print the folder
#   build.sh -print    print the folder without building
#
#   cluster   etcd, kube-apiserver, kubectl (default)
#   node      kube-controller-manager, kube-scheduler, kubelet, kube-proxy
#   helm      helm
#   promtool  promtool
#
# If KUBEBUILDER_ASSETS is set, it is printed instead, and nothing is built.
# AUDIT_TOOLS_DIR chooses the cache (default: the user's cache folder).
set -eu

# These are not in go.mod: they would raise the versions of dependencies that
# Kubernetes and the other one were released with.
helm=v4.3.2
promtool=v0.316.0

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	echo "$KUBEBUILDER_ASSETS"
	exit 0
fi

version=$(awk '$1 == "k8s.io/kubernetes" || $2 == "k8s.io/kubernetes" {for (i = 1; i <= NF; i++) if ($i ~ /^v[0-9]/) {print $i; exit}}' "$here/go.mod")
digest=$(cat "$here/go.mod" "$here/go.sum" "$here/build.sh" | sha256sum | cut -c 1-12)
cache=${AUDIT_TOOLS_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/eventuallytrue-audit}
bin=$cache/tools-$version-$digest

if [ "${1:-}" = -print ]; then
	echo "$bin"
	exit 0
fi
mkdir -p "$bin" "$cache/built"

# keep NAME KEY COMMAND...: links the binary into this folder. If no binary with that
# key was built before, for another folder, the command first builds it in the folder
# $out. It is moved when complete, so an interrupted build leaves no partial binary.
keep() {
	name=$1 kept=$cache/built/$1-$2
	shift 2
	if [ ! -x "$kept" ]; then
		echo "building $name (once; minutes on a cold cache)" >&2
		out=$(mktemp -d "$cache/built/.$name.XXXXXX")
		trap 'rm -rf "$out"' EXIT
		"$@" >&2
		mv "$out/$name" "$kept"
		rm -rf "$out"
		trap - EXIT
	fi
	ln -f "$kept" "$bin/$name"
}

# pinned NAME PACKAGE LDFLAGS: a package of a module in go.mod. The key is the versions
# of its modules, not the whole go.mod, so that a new dependency of one binary does
# not rebuild kube-apiserver.
pinned() {
	[ -x "$bin/$1" ] && return 0
	parts=$(cd "$here" && CGO_ENABLED=0 GOWORK=off go list -deps \
		-f '{{with .Module}}{{.Path}} {{with .Replace}}{{.Path}} {{.Version}}{{else}}{{.Version}}{{end}}{{end}}' "$2")
	key=$(printf '%s\n' "$3" "$parts" | sort -u | sha256sum | cut -c 1-12)
	keep "$1" "$key" compile "$@"
}

compile() { (cd "$here" && CGO_ENABLED=0 GOWORK=off go build -trimpath -ldflags "$3" -o "$out/$1" "$2"); }

# released NAME PACKAGE VERSION LDFLAGS: a package built in its own module, with the
# dependencies that it was released with.
released() {
	[ -x "$bin/$1" ] && return 0
	keep "$1" "$3" install "$@"
}

install() { CGO_ENABLED=0 GOWORK=off GOBIN=$out go install -trimpath -ldflags "$4" "$2@$3"; }

# Without these flags the server reports version v0.0.0-master, which breaks clients
# that depend on the version.
minor=${version#v*.}
minor=${minor%%.*}
stamp="-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor"

[ $# -gt 0 ] || set -- cluster
for set in "$@"; do
	case $set in
	cluster)
		pinned etcd go.etcd.io/etcd/server/v3 "-s -w"
		pinned kubectl k8s.io/kubernetes/cmd/kubectl "$stamp"
		pinned kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$stamp"
		;;
	node)
		for name in kube-controller-manager kube-scheduler kubelet kube-proxy; do
			pinned "$name" "k8s.io/kubernetes/cmd/$name" "$stamp"
		done
		;;
	helm)
		released helm helm.sh/helm/v4/cmd/helm "$helm" "-s -w -X helm.sh/helm/v4/internal/version.version=$helm"
		;;
	promtool)
		released promtool github.com/prometheus/prometheus/cmd/promtool "$promtool" "-s -w"
		;;
	*)
		echo "build.sh: unknown set $set" >&2
		exit 2
		;;
	esac
done
echo "$bin"

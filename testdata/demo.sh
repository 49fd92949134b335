#!/bin/sh
# Applies the sample estate to a cluster, sweeps it, fixes one fault, and sweeps
# again. It fails if any result is unexpected.
#
#   demo.sh AUDIT
#
# AUDIT is the built program. KUBECONFIG selects the cluster, which must be empty;
# the script leaves the estate in it. `make demo` starts a cluster for this.
set -eu

audit=${1:?usage: demo.sh AUDIT}
: "${KUBECONFIG:?not set: run make demo}"
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "demo: $*" >&2
	exit 1
}

say() {
	printf '\n# %s\n' "$*"
}

# sweep CODE [FLAG...]: the sweep must end with that exit code.
sweep() {
	want=$1
	shift
	code=0
	"$audit" --once "$@" || code=$?
	[ "$code" -eq "$want" ] || fail "audit --once $* ended with exit code $code, want $want"
}

# ids [FLAG...]: the ids of findings, one per line.
ids() {
	sweep 1 -o json "$@" >"$work/report.json"
	sed -n 's/^ *"id": "\(.*\)",$/\1/p' "$work/report.json"
}

strangers=$(kubectl get namespaces -o name | grep -vxE 'namespace/(default|kube-.*)' || true)
[ -z "$strangers" ] || fail "the cluster is not empty:" $strangers

say "The estate: a dozen teams' namespaces, most of them healthy."
kubectl apply --server-side -R -f "$here/estate" >"$work/applied"
echo "$(grep -c serverside-applied "$work/applied") objects applied"

say "The first sweep. Exit code 1 means that there are findings."
sweep 1
ids >"$work/before"
ids -n tracking >"$work/fault"

say "One of the faults. A policy left over from a debugging session allows all
# ingress, regardless of the default-deny policy beside it."
sweep 1 -n tracking --rule default-deny-present

say "The fix:  kubectl delete networkpolicy -n tracking tmp-debug"
kubectl delete networkpolicy -n tracking tmp-debug

say "The next sweep of that namespace. Exit code 0 means that there are no findings."
sweep 0 -n tracking --rule default-deny-present

say "In the whole estate, that finding is gone, and no other appeared or disappeared."
ids >"$work/after"
ids -n tracking >"$work/rest"
grep -vxF -f "$work/rest" "$work/fault" >"$work/gone" || true
[ "$(wc -l <"$work/gone")" -eq 1 ] || fail "the finding in namespace tracking is still there"
grep -vxF -f "$work/gone" "$work/before" >"$work/expected"
diff "$work/expected" "$work/after" >&2 || fail "other findings appeared or disappeared"
sed 's/^/gone: /' "$work/gone"

#!/bin/sh
# Applies the sample estate to a cluster, sweeps it, mends one fault, and sweeps
# again. It ends with an error where anything is not as it should be.
#
#   demo.sh AUDIT
#
# AUDIT is the built program. KUBECONFIG leads to the cluster, which must be empty
# and is not any more thereafter; `make demo` starts one for this.
set -eu

audit=${1:?usage: demo.sh AUDIT}
: "${KUBECONFIG:?leads to no cluster: run make demo}"
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

# ids [FLAG...]: what tells findings apart, a line each.
ids() {
	sweep 1 -o json "$@" >"$work/report.json"
	sed -n 's/^ *"id": "\(.*\)",$/\1/p' "$work/report.json"
}

strangers=$(kubectl get namespaces -o name | grep -vxE 'namespace/(default|kube-.*)' || true)
[ -z "$strangers" ] || fail "the cluster is not empty:" $strangers

say "The estate: a dozen teams' namespaces, most of them healthy."
kubectl apply --server-side -R -f "$here/estate" >"$work/applied"
echo "$(grep -c serverside-applied "$work/applied") objects applied"

say "The first sweep. Exit code 1 says that something was found."
sweep 1
ids >"$work/before"
ids -n tracking >"$work/fault"

say "One of the faults. A policy that was left behind by a debugging session lets
# everything in, whatever the default-deny beside it says."
sweep 1 -n tracking --rule default-deny-present

say "It is mended:  kubectl delete networkpolicy -n tracking tmp-debug"
kubectl delete networkpolicy -n tracking tmp-debug

say "The next sweep of that namespace. Exit code 0 says that nothing was found."
sweep 0 -n tracking --rule default-deny-present

say "In the whole estate that one finding is gone, and no other came or went."
ids >"$work/after"
ids -n tracking >"$work/rest"
grep -vxF -f "$work/rest" "$work/fault" >"$work/gone" || true
[ "$(wc -l <"$work/gone")" -eq 1 ] || fail "the finding in namespace tracking is still there"
grep -vxF -f "$work/gone" "$work/before" >"$work/expected"
diff "$work/expected" "$work/after" >&2 || fail "other findings came or went"
sed 's/^/gone: /' "$work/gone"

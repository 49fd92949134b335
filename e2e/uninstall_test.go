package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// uninstallLeavesFindings: what the platform team paid for with attention is not
// thrown away by a command that undoes an installation, and it says so. The next
// installation goes on where the last one ended.
func uninstallLeavesFindings(t *testing.T, w *world) {
	before := w.findings(t)
	said := w.helm(t, "uninstall", release, "--wait")
	expectSaid(t, said, "kept", "findings.eventuallytrue.dev")
	if diff := cmp.Diff(before, w.findings(t)); diff != "" {
		t.Errorf("findings changed by the end of the installation (-before +after):\n%s", diff)
	}
	// Pods go a moment after what they were made for.
	const kinds = "all,configmaps,secrets,serviceaccounts,roles,rolebindings,leases,networkpolicies,clusterroles,clusterrolebindings"
	await(t, "nothing else is left", func() bool {
		return w.kubectl(t, "get", kinds, "-A", "-l", "app.kubernetes.io/instance="+release, "-o", "name") == ""
	})
	w.install(t, chart, w.values(t, object{"cronjob": suspended()}))
	if job := w.sweepNow(t, "again"); job.Status.Succeeded != 1 {
		t.Fatalf("the sweep of the second installation: %+v", job.Status)
	}
	after := w.findings(t)
	for name := range before {
		if after[name].UID != before[name].UID {
			t.Errorf("finding %s was made anew", name)
		}
	}
}

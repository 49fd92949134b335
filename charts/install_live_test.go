package charts

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// finding is one as a sweep stores it, as far as its definition demands.
const finding = `
apiVersion: eventuallytrue.dev/v1alpha1
kind: Finding
metadata: {name: owner-known-0123456789, namespace: audit}
spec: {rule: owner-known, subject: {kind: Namespace, name: shop}}
`

// TestUpgradeAndUninstallKeepFindings: an upgrade brings the definition of the new
// chart, and takes neither findings nor the turn of whoever publishes just now.
func TestUpgradeAndUninstallKeepFindings(t *testing.T) {
	c := control.Cluster(t)
	installed(t, c, "")
	kubectl(t, c, "apply", "-f", file(t, finding))
	kubectl(t, c, "patch", "lease", "audit", "-n", home, "--type=merge", "-p", `{"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 15}}`)
	// As an older chart had it.
	kubectl(t, c, "patch", "crd", "findings.eventuallytrue.dev", "--type=json", "-p", `[{"op": "remove", "path": "/spec/names/shortNames"}]`)

	mustHelm(t, c, "upgrade", home, chart, "--namespace", home, "--set", "mode=deployment", "--set", "config.cluster=other", "--force-conflicts")
	checkKept(t, c)
	if got := kubectl(t, c, "get", "lease", "audit", "-n", home, "-o", "jsonpath={.spec.holderIdentity}"); got != "somebody" {
		t.Errorf("the upgrade gave the lease to %q", got)
	}
	if got := kubectl(t, c, "get", "crd", "findings.eventuallytrue.dev", "-o", "jsonpath={.spec.names.shortNames[0]}"); got != "fnd" {
		t.Errorf("the definition is still the old one: its short name is %q", got)
	}
	if got := kubectl(t, c, "get", "cronjobs,deployments", "-n", home, "-o", "name"); got != "deployment.apps/audit\n" {
		t.Errorf("after the upgrade there is %s", got)
	}

	out := mustHelm(t, c, "uninstall", home, "--namespace", home)
	if !strings.Contains(out, "findings.eventuallytrue.dev") {
		t.Errorf("helm does not say what stays: %s", out)
	}
	checkKept(t, c)
	if got := kubectl(t, c, "get", "deployments,roles,configmaps,leases,serviceaccounts,networkpolicies", "-n", home, "-l", "app.kubernetes.io/instance=audit", "-o", "name"); got != "" {
		t.Errorf("what else stays: %s", got)
	}

	installed(t, c, "")
	checkKept(t, c)
}

func checkKept(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	if got := kubectl(t, c, "get", "findings", "-n", home, "-o", "name"); !strings.Contains(got, "owner-known-0123456789") {
		t.Errorf("findings: %q", got)
	}
}

// TestWhatWasAppliedByHandIsTakenOver, with the findings that were kept by it.
func TestWhatWasAppliedByHandIsTakenOver(t *testing.T) {
	c := control.Cluster(t)
	kubectl(t, c, "apply", "-f", "../audit/api/v1alpha1/eventuallytrue.dev_findings.yaml")
	kubectl(t, c, "wait", "--for=condition=Established", "crd/findings.eventuallytrue.dev", "--timeout=30s")
	kubectl(t, c, "apply", "-f", "publish.yaml", "-f", file(t, finding))
	if out, err := helm(t, c.Env(), "install", home, chart, "--namespace", home); err == nil || !strings.Contains(out, "ownership") {
		t.Errorf("installs over what somebody else keeps: %v\n%s", err, out)
	}
	mustHelm(t, c, "install", home, chart, "--namespace", home, "--take-ownership")
	checkKept(t, c)
	mustHelm(t, c, "uninstall", home, "--namespace", home)
	checkKept(t, c)
}

func TestNotesSayHowToSweepNow(t *testing.T) {
	c := control.Cluster(t)
	notes := mustHelm(t, c, "install", home, chart, "--namespace", home, "--create-namespace")
	var command string
	for line := range strings.Lines(notes) {
		if strings.Contains(line, "create job") {
			command = strings.TrimSpace(line)
		}
	}
	kubectl(t, c, strings.Fields(strings.TrimPrefix(command, "kubectl "))...)
	if got := kubectl(t, c, "get", "jobs", "-n", home, "-o", "name"); got != "job.batch/audit-now\n" {
		t.Errorf("%s made %q", command, got)
	}
}

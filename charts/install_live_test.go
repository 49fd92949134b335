package charts

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// finding is a minimal stored finding.
const finding = `
apiVersion: eventuallytrue.dev/v1alpha1
kind: Finding
metadata: {name: owner-known-0123456789, namespace: audit}
spec: {rule: owner-known, subject: {kind: Namespace, name: shop}}
`

// TestUpgradeAndUninstallKeepFindings checks that an upgrade brings the new
// CustomResourceDefinition, and keeps the findings and the holder of the Lease.
func TestUpgradeAndUninstallKeepFindings(t *testing.T) {
	c := control.Cluster(t)
	installed(t, c, "")
	kubectl(t, c, "apply", "-f", file(t, finding))
	kubectl(t, c, "patch", "lease", "audit", "-n", home, "--type=merge", "-p", `{"spec": {"holderIdentity": "publisher", "leaseDurationSeconds": 15}}`)
	// Like that of an older chart.
	kubectl(t, c, "patch", "crd", "findings.eventuallytrue.dev", "--type=json", "-p", `[{"op": "remove", "path": "/spec/names/shortNames"}]`)

	mustHelm(t, c, "upgrade", home, chart, "--namespace", home, "--set", "mode=deployment", "--set", "config.cluster=other", "--force-conflicts")
	checkKept(t, c)
	if got := kubectl(t, c, "get", "lease", "audit", "-n", home, "-o", "jsonpath={.spec.holderIdentity}"); got != "publisher" {
		t.Errorf("the upgrade changed the holder of the lease to %q", got)
	}
	if got := kubectl(t, c, "get", "crd", "findings.eventuallytrue.dev", "-o", "jsonpath={.spec.names.shortNames[0]}"); got != "fnd" {
		t.Errorf("the CustomResourceDefinition is still the old one, with short name %q", got)
	}
	if got := kubectl(t, c, "get", "cronjobs,deployments", "-n", home, "-o", "name"); got != "deployment.apps/audit\n" {
		t.Errorf("workloads after the upgrade: %s", got)
	}

	out := mustHelm(t, c, "uninstall", home, "--namespace", home)
	if !strings.Contains(out, "findings.eventuallytrue.dev") {
		t.Errorf("helm does not say what it keeps: %s", out)
	}
	checkKept(t, c)
	if got := kubectl(t, c, "get", "deployments,roles,configmaps,leases,serviceaccounts,networkpolicies", "-n", home, "-l", "app.kubernetes.io/instance=audit", "-o", "name"); got != "" {
		t.Errorf("left after uninstalling: %s", got)
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

// TestInstallTakesOwnershipOfManifests checks that the chart can replace an installation
// with kubectl, and keeps its findings.
func TestInstallTakesOwnershipOfManifests(t *testing.T) {
	c := control.Cluster(t)
	kubectl(t, c, "apply", "-f", "../audit/api/v1alpha1/eventuallytrue.dev_findings.yaml")
	kubectl(t, c, "wait", "--for=condition=Established", "crd/findings.eventuallytrue.dev", "--timeout=30s")
	kubectl(t, c, "apply", "-f", "publish.yaml", "-f", file(t, finding))
	if out, err := helm(t, c.Env(), "install", home, chart, "--namespace", home); err == nil || !strings.Contains(out, "ownership") {
		t.Errorf("installs without --take-ownership: %v\n%s", err, out)
	}
	mustHelm(t, c, "install", home, chart, "--namespace", home, "--take-ownership")
	checkKept(t, c)
	mustHelm(t, c, "uninstall", home, "--namespace", home)
	checkKept(t, c)
}

func TestSecondReleaseInANamespaceIsRefused(t *testing.T) {
	c := control.Cluster(t)
	mustHelm(t, c, "install", home, chart, "--namespace", home, "--create-namespace")
	out, err := helm(t, c.Env(), "install", "second", chart, "--namespace", home)
	if want := `namespace ` + home + ` already has release "` + home + `" of this chart`; err == nil || !strings.Contains(out, want) {
		t.Errorf("got %v, want %q:\n%s", err, want, out)
	}
	mustHelm(t, c, "upgrade", home, chart, "--namespace", home)
	mustHelm(t, c, "install", "second", chart, "--namespace", "elsewhere", "--create-namespace", "--set", "crds.install=false")
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
		t.Errorf("%s created %q", command, got)
	}
}

// TestServerAcceptsEveryObject applies all objects with strict validation, as a dry run.
func TestServerAcceptsEveryObject(t *testing.T) {
	c := control.Cluster(t)
	kubectl(t, c, "create", "namespace", home)
	for name, text := range map[string]string{
		"the default":                      "",
		"mode deployment":                  "mode: deployment",
		"everything":                       everything,
		"everything, as a CronJob":         strings.Replace(everything, "mode: deployment", "mode: cronjob", 1),
		"a dashboard":                      "dashboard: {enabled: true}",
		"other limits":                     `{resources: {limits: {memory: 250M, cpu: null}}, terminationGracePeriodSeconds: 60}`,
		"no RBAC and no service account":   "{rbac: {create: false}, serviceAccount: {create: false}, networkPolicy: {enabled: false}}",
		"a long name":                      "fullnameOverride: a23456789-b23456789-c23456789-d23456789-e23456789-f23456789",
		"a macro as schedule":              `cronjob: {schedule: "@hourly", suspend: true}`,
		"a time zone with daylight saving": `cronjob: {timeZone: America/Argentina/Buenos_Aires}`,
	} {
		t.Run(name, func(t *testing.T) {
			kubectl(t, c, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file(t, render(t, text).text))
		})
	}
}

package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
)

// publishing returns a cluster with the estate, the definition of findings, and
// an account with exactly the rights of charts/read-only.yaml and publish.yaml,
// and the arguments with which that account publishes.
func publishing(t *testing.T) (*kubetest.Cluster, []string) {
	t.Helper()
	c := control.Cluster(t)
	applyEstate(t, c)
	return c, allowToPublish(t, c)
}

// allowToPublish gives the cluster the definition of findings and an account the
// rights of charts/read-only.yaml and publish.yaml, and returns the arguments with
// which it publishes.
func allowToPublish(t *testing.T, c *kubetest.Cluster) []string {
	t.Helper()
	if err := c.InstallCRDs(t.Context(), filepath.Join("..", "..", "audit", "api", "v1alpha1")); err != nil {
		t.Fatal(err)
	}
	charts := filepath.Join("..", "..", "charts")
	kubectl(t, c, "apply", "-f", filepath.Join(charts, "read-only.yaml"), "-f", filepath.Join(charts, "publish.yaml"))
	kubectl(t, c, "create", "clusterrolebinding", "audit-read-only", "--clusterrole=audit-read-only", "--user="+kubetest.Guest)
	kubectl(t, c, "create", "rolebinding", "audit-publish", "-n", "audit", "--role=audit-publish", "--user="+kubetest.Guest)
	awaitSweep(t, c)
	return []string{"--publish", "--kubeconfig", c.Kubeconfig(kubetest.Guest)}
}

// stored lists the findings through the command.
func stored(t *testing.T, c *kubetest.Cluster, args ...string) []report.StoredFinding {
	t.Helper()
	out := execute(append([]string{"findings", "-o", "json", "--kubeconfig", c.Kubeconfig(kubetest.Guest)}, args...)...)
	if out.code != 0 {
		t.Fatalf("audit findings exits %d: %s", out.code, out.stderr)
	}
	var list report.FindingList
	if err := json.Unmarshal([]byte(out.stdout), &list); err != nil {
		t.Fatal(err)
	}
	return list.Findings
}

func statesOf(list []report.StoredFinding) map[string]int {
	n := map[string]int{}
	for _, f := range list {
		n[f.State]++
	}
	return n
}

// versions returns the version of each stored finding, which every write changes.
func versions(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	return kubectl(t, c, "get", "findings", "-n", "audit", "-o",
		`jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion}{"\n"}{end}`)
}

func TestPublishKeepsFindingsUntilTheClusterIsRight(t *testing.T) {
	c, args := publishing(t)
	sweep(t, 0, args...)
	if diff := cmp.Diff(map[string]int{"Open": 18}, statesOf(stored(t, c))); diff != "" {
		t.Fatalf("findings after the first sweep (-want +got):\n%s", diff)
	}

	before := versions(t, c)
	sweep(t, 0, args...)
	if diff := cmp.Diff(before, versions(t, c)); diff != "" {
		t.Errorf("a sweep of an unchanged cluster wrote (-before +after):\n%s", diff)
	}

	kubectl(t, c, "delete", "networkpolicy", "-n", "tracking", "tmp-debug")
	sweep(t, 0, args...)
	if diff := cmp.Diff(map[string]int{"Open": 17, "Resolved": 1}, statesOf(stored(t, c))); diff != "" {
		t.Errorf("findings after one fault was fixed (-want +got):\n%s", diff)
	}
	resolved := stored(t, c, "--state", "Resolved")
	if len(resolved) != 1 || resolved[0].Reason != "resolved" || resolved[0].Subject.Name != "tracking" || resolved[0].ResolvedAt.IsZero() {
		t.Errorf("resolved: %+v", resolved)
	}

	applyEstate(t, c)
	sweep(t, 0, args...)
	if diff := cmp.Diff(map[string]int{"Open": 18}, statesOf(stored(t, c))); diff != "" {
		t.Errorf("findings after the fault came back (-want +got):\n%s", diff)
	}
	for _, f := range stored(t, c) {
		if came := f.Subject.Name == "tracking" && f.Subject.Detail == "Ingress"; came != (f.Reopened == 1) {
			t.Errorf("%s came back %d times", f.ID, f.Reopened)
		}
	}
}

func TestPublishResolvesNothingThatItMayNotRead(t *testing.T) {
	w := newWorkspace(t, nil)
	c, args := w.c, w.args
	sweep(t, 0, args...)
	before, sent := versions(t, c), len(w.slack.Messages())
	asked := len(w.slack.Requests())
	kubectl(t, c, "patch", "clusterrole", "audit-read-only", "--type=json", "-p",
		`[{"op": "replace", "path": "/rules/`+ruleOf(t, "ingresses")+`/resources", "value": ["ingressclasses", "networkpolicies"]}]`)
	out := eventually(t, func() (outcome, bool) {
		out := execute(append([]string{"--once", "-o", "json"}, args...)...)
		return out, out.code == exitIncomplete
	})
	if !strings.Contains(out.stdout, `"status": "skipped"`) {
		t.Errorf("no rule is skipped: %s", out.stderr)
	}
	if diff := cmp.Diff(before, versions(t, c)); diff != "" {
		t.Errorf("findings of unread kinds were written (-before +after):\n%s", diff)
	}
	kubectl(t, c, "apply", "-f", filepath.Join("..", "..", "charts", "read-only.yaml"))
	eventually(t, func() (outcome, bool) {
		out := execute(append([]string{"--once", "-o", "json"}, args...)...)
		return out, out.code == 0
	})
	if diff := cmp.Diff(before, versions(t, c)); diff != "" {
		t.Errorf("findings were written when they could be read again (-before +after):\n%s", diff)
	}
	if n := len(w.slack.Requests()) - asked; n > 0 || sent == 0 {
		t.Errorf("owners were sent %d messages before, and then %d requests were made of Slack", sent, n)
	}
}

func TestPublishRejectsPartialSweeps(t *testing.T) {
	for _, args := range [][]string{{"--from", estateDir}, {"-n", "tracking"}, {"--rule", "owner-known"}, {"--previous", "x"}} {
		out := execute(append([]string{"--once", "--publish"}, args...)...)
		if out.code != exitUsage || !strings.Contains(out.stderr, "cannot be used with --publish") {
			t.Errorf("%q: exit %d, %s", args, out.code, out.stderr)
		}
	}
}

func TestFindingsAreListedByOwnerAndByKubectl(t *testing.T) {
	c, args := publishing(t)
	sweep(t, 0, args...)
	mine := stored(t, c, "--owner", "growth")
	byLabel := strings.Fields(kubectl(t, c, "get", "fnd", "-n", "audit", "-l", "owner.eventuallytrue.dev/growth", "-o", "name"))
	alone := strings.Fields(kubectl(t, c, "get", "fnd", "-n", "audit", "-l", "owner=growth", "-o", "name"))
	if len(mine) == 0 || len(byLabel) != len(mine) {
		t.Errorf("%d findings of growth, %d by label", len(mine), len(byLabel))
	}
	// A label has one value, so owner is set only on findings with one owner.
	sole := slices.DeleteFunc(mine, func(f report.StoredFinding) bool { return len(f.Owners) > 1 })
	if len(sole) == 0 || len(alone) != len(sole) {
		t.Errorf("%d findings of growth alone, %d by label", len(sole), len(alone))
	}
	table := execute("findings", "--kubeconfig", c.Kubeconfig(kubetest.Guest), "--owner", "growth")
	for _, f := range mine {
		if !strings.HasPrefix(table.stdout, "SEV ") || !strings.Contains(table.stdout, "  "+f.Subject.Name+"  ") {
			t.Errorf("the table of growth has no %s:\n%s", f.Subject.Name, table.stdout)
		}
	}
	named := execute("findings", mine[0].ID, "--kubeconfig", c.Kubeconfig(kubetest.Guest), "-o", "wide")
	if named.code != 0 || strings.Count(named.stdout, "\n    id    ") != 1 || !strings.Contains(named.stdout, mine[0].ID) {
		t.Errorf("exit %d for one finding: %s%s", named.code, named.stdout, named.stderr)
	}
	if got := execute("findings", "no-such", "--kubeconfig", c.Kubeconfig(kubetest.Guest)); got.code != exitUsage {
		t.Errorf("exit %d for no finding: %s%s", got.code, got.stdout, got.stderr)
	}
	// A namespace that does not exist must not look like one without findings.
	for asked, want := range map[string]string{
		"--findings-namespace=adit": "No findings in namespace adit\n",
		"--owner=grwth":             "None of the ",
	} {
		if got := execute("findings", "--kubeconfig", c.Kubeconfig(kubetest.Admin), asked); !strings.HasPrefix(got.stdout, want) {
			t.Errorf("findings %s: %s%s", asked, got.stdout, got.stderr)
		}
	}
}

// TestFindingsWithoutAStatusAreReported: they are created first and completed by a
// second write, which may be forbidden. A list without them would be incomplete.
func TestFindingsWithoutAStatusAreReported(t *testing.T) {
	c, args := publishing(t)
	sweep(t, 0, args...)
	list := []string{"findings", "--kubeconfig", c.Kubeconfig(kubetest.Guest)}
	if got := execute(list...); got.code != 0 || got.stderr != "" {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	name := strings.Fields(kubectl(t, c, "get", "fnd", "-n", "audit", "-o", "name"))[0]
	kubectl(t, c, "patch", name, "-n", "audit", "--subresource=status", "--type=merge", "-p", `{"status":null}`)
	got := execute(list...)
	if got.code != exitIncomplete || !strings.HasPrefix(got.stderr, "audit: findings without a status, which are not shown: 1; ") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	sweep(t, 0, args...)
	if got := execute(list...); got.code != 0 || got.stderr != "" {
		t.Errorf("after the next sweep: exit %d: %s", got.code, got.stderr)
	}
}

// ruleOf returns the place of the rule of the read-only role that is about a
// resource.
func ruleOf(t *testing.T, resource string) string {
	t.Helper()
	for i, rule := range rights(t) {
		if slices.Contains(rule.Resources, resource) {
			return strconv.Itoa(i)
		}
	}
	t.Fatalf("no rule is about %s", resource)
	return ""
}

// eventually calls a function until it succeeds, with a limit: the API server enforces
// new rights a moment after they are stored.
func eventually(t *testing.T, try func() (outcome, bool)) outcome {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out, done := try()
		if done {
			return out
		}
		if time.Now().After(end) {
			t.Fatalf("it does not happen: exit %d, %s", out.code, out.stderr)
		}
	}
}

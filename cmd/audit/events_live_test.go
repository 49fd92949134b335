package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
)

// eventing is publishing with a config that asks for Events.
func eventing(t *testing.T) (*kubetest.Cluster, []string) {
	t.Helper()
	c, args := publishing(t)
	path := filepath.Join(t.TempDir(), "audit.yaml")
	if err := os.WriteFile(path, []byte("events: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return c, append(args, "--config", path)
}

// allowEvents gives the guest the right in charts/events.yaml, and returns when the
// server enforces it.
func allowEvents(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	kubectl(t, c, "apply", "-f", filepath.Join(moduleRoot, "charts", "events.yaml"))
	kubectl(t, c, "create", "clusterrolebinding", "audit-events", "--clusterrole=audit-events", "--user="+kubetest.Guest)
	eventually(t, func() (outcome, bool) {
		out, err := c.Kubectl(t.Context(), "auth", "can-i", "create", "events.events.k8s.io", "-A", "--as", kubetest.Guest)
		return outcome{stdout: out}, err == nil
	})
}

// ownEvents returns reason and object of each Event of the program, sorted.
func ownEvents(t *testing.T, c *kubetest.Cluster) []string {
	t.Helper()
	list := strings.Fields(kubectl(t, c, "get", "events.events.k8s.io", "-A", "-o",
		`jsonpath={range .items[?(@.reportingController=="eventuallytrue.dev/audit")]}{.reason}:{.regarding.kind}/{.regarding.namespace}/{.regarding.name} {end}`))
	slices.Sort(list)
	return list
}

func TestEventsFollowFindingsToTheirEnd(t *testing.T) {
	c, args := eventing(t)
	allowEvents(t, c)
	if diff := cmp.Diff([]report.Delivery{{Sender: "events", Result: "sent"}}, sweep(t, 0, args...).Deliveries); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	first := ownEvents(t, c)
	for _, args := range [][]string{
		{"describe", "ingress", "-n", "shop-web", "basket"},
		{"describe", "deployment", "-n", "tracking", "tracker"},
		// Of these kinds kubectl describe shows no Events at all.
		{"events", "-n", "tracking", "--for", "networkpolicy/tmp-debug"},
	} {
		if shown := kubectl(t, c, args...); !strings.Contains(shown, "FindingOpened") || !strings.Contains(shown, "eventuallytrue.dev/audit") && args[0] == "describe" {
			t.Errorf("kubectl %s:\n%s", strings.Join(args, " "), shown)
		}
	}
	sweep(t, 0, args...)
	if diff := cmp.Diff(first, ownEvents(t, c)); diff != "" {
		t.Errorf("a sweep of an unchanged cluster recorded Events (-before +after):\n%s", diff)
	}

	kubectl(t, c, "delete", "networkpolicy", "-n", "tracking", "tmp-debug")
	sweep(t, 0, args...)
	want := slices.Concat(first, []string{"FindingResolved:Deployment/tracking/carrier-events", "FindingResolved:Deployment/tracking/tracker"})
	if diff := cmp.Diff(want, ownEvents(t, c)); diff != "" {
		t.Errorf("Events after one fault was fixed (-want +got):\n%s", diff)
	}
}

func TestEventsThatAreRefusedLeaveTheFindingsStored(t *testing.T) {
	c, args := eventing(t)
	out := execute(append([]string{"--once", "-o", "json"}, args...)...)
	if out.code != exitIncomplete {
		t.Errorf("exit %d: %s", out.code, out.stderr)
	}
	deliveries := decode(t, out.stdout).Deliveries
	if len(deliveries) != 1 || deliveries[0].Sender != "events" || deliveries[0].Result != "refused" ||
		!strings.Contains(deliveries[0].Reason, `cannot create resource "events" in API group "events.k8s.io"`) {
		t.Errorf("deliveries: %+v", deliveries)
	}
	if diff := cmp.Diff(map[string]int{"Open": 18}, statesOf(stored(t, c))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if got := ownEvents(t, c); len(got) > 0 {
		t.Errorf("Events: %q", got)
	}
}

func TestEventsAreRecordedByTheLongRunningMode(t *testing.T) {
	c, args := eventing(t)
	allowEvents(t, c)
	s := publishes(t, buildAudit(t), c.Kubeconfig(kubetest.Guest), append([]string{"--interval", "5s"}, args[len(args)-2:]...)...)
	s.says(t, "complete=true findings=18 opened=18", 1)
	if got := ownEvents(t, c); !slices.Contains(got, "FindingOpened:Ingress/shop-web/basket") {
		t.Errorf("Events: %q", got)
	}
	s.end(t, syscall.SIGTERM)
}

func TestDryRunRecordsNoEvents(t *testing.T) {
	o := &publishOptions{dryRun: true, readOptions: readOptions{config: config.Config{Events: true}}}
	published := &audit.Published{Transitions: []audit.Transition{{Why: audit.ReasonOpened}}}
	o.newEventRecorder(nil).record(t.Context(), &audit.Result{}, published)
	if len(published.Deliveries) > 0 {
		t.Errorf("deliveries: %+v", published.Deliveries)
	}
}

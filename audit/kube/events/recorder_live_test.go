package events_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/events"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var (
	sent    = []audit.Delivery{{Sender: "events", Result: audit.DeliverySent}}
	nothing []audit.Delivery
)

func TestLiveDescribeShowsTransitionsOfAFinding(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a", "team-b")
	events := eventRecorder(t, c, events.Options{Instance: "pod-1"}, eventRight)
	r := on(aRecord("shop.example.com"), webOf("team-a"), webOf("team-b"))
	resolved := r
	resolved.State, resolved.ResolvedAt = audit.StateResolved, monday.Add(time.Hour)
	for _, step := range []struct {
		why   audit.Reason
		r     audit.Record
		shown string
	}{
		{audit.ReasonOpened, r, "Warning  FindingOpened"},
		{audit.ReasonResolved, resolved, "Normal   FindingResolved"},
		{audit.ReasonReopened, r, "Warning  FindingReopened"},
		{audit.ReasonRuleRetired, resolved, "Normal   FindingRuleRetired"},
		{audit.ReasonExcepted, resolved, "Normal   FindingExcepted"},
	} {
		before := len(recordedEvents(t, c))
		// The second call repeats the first and adds nothing.
		for range 2 {
			if diff := cmp.Diff(sent, events.Record(t.Context(), monday, became(step.why, step.r))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.why, diff)
			}
		}
		if n := len(recordedEvents(t, c)) - before; n != 2 {
			t.Errorf("%s adds %d Events, want one for each object", step.why, n)
		}
		for _, ns := range []string{"team-a", "team-b"} {
			out := must(c.Kubectl(t.Context(), "describe", "ingress", "-n", ns, "web"))(t)
			shown := describedEvents(out)
			if !strings.Contains(shown, step.shown) || !strings.Contains(shown, "eventuallytrue.dev/audit") ||
				!strings.Contains(shown, r.Message) || !strings.Contains(shown, r.ID) {
				t.Errorf("%s: kubectl describe shows of %s:\n%s", step.why, ns, out)
			}
		}
	}
	first := recordedEvents(t, c)[0]
	want := r.Objects[0].Ref
	if first.Regarding.APIVersion != "networking.k8s.io/v1" || first.Regarding.Name != want.Name || first.Regarding.UID == "" ||
		first.Related.Kind != "Finding" || first.Related.Name != r.ID || first.Related.Namespace != home || first.ReportingInstance != "pod-1" {
		t.Errorf("the Event is %+v", first)
	}
}

// describedEvents returns the Events that kubectl describe shows.
func describedEvents(out string) string {
	_, shown, _ := strings.Cut(out, "\nEvents:")
	return shown
}

func TestLiveEachTransitionHasItsOwnEvents(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a")
	events := eventRecorder(t, c, events.Options{}, eventRight)
	r := on(aRecord("shop.example.com"), webOf("team-a"))
	again := r
	again.Reopened = 1
	for i, step := range []struct {
		name      string
		at        time.Time
		published *audit.Published
	}{
		{"opened", monday, became(audit.ReasonOpened, r)},
		{"changed", monday, changed(t, r, rules.Low)},
		{"changed to the same once more later", monday.Add(time.Hour), changed(t, r, rules.Low)},
		{"reopened", monday, became(audit.ReasonReopened, r)},
		{"reopened in another life", monday, became(audit.ReasonReopened, again)},
		{"opened after the old one was deleted", monday.Add(48 * time.Hour), became(audit.ReasonOpened, r)},
	} {
		events.Record(t.Context(), step.at, step.published)
		if n := len(recordedEvents(t, c)); n != i+1 {
			t.Errorf("%s: %d Events, want %d", step.name, n, i+1)
		}
	}
	for name, quiet := range map[string]*audit.Published{
		"confirmed":      became(audit.ReasonConfirmed, r),
		"carried over":   became(audit.ReasonCarriedOver, r),
		"pending":        became(audit.ReasonPending, r),
		"other words":    changed(t, r, r.Severity),
		"not stored":     unwritten(became(audit.ReasonOpened, r)),
		"a quiet sweep":  {},
		"was never open": became(audit.ReasonGone, r),
	} {
		if diff := cmp.Diff(nothing, events.Record(t.Context(), monday.Add(time.Minute), quiet)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if n := len(recordedEvents(t, c)); n != 6 {
		t.Errorf("%d Events, want 6", n)
	}
}

// changed is a sweep that sees a finding with another message and a severity.
func changed(t *testing.T, r audit.Record, severity rules.Severity) *audit.Published {
	t.Helper()
	f := r.Finding
	f.Message, f.Severity = "it reads otherwise", severity
	ev := &audit.Evaluation{Rules: []audit.Outcome{{Rule: f.Rule, Status: audit.RuleRan}}, Findings: []audit.Finding{f}}
	all := audit.Reconciler{Now: monday}.Reconcile([]audit.Record{r}, ev)
	want := audit.ReasonChanged
	if severity == r.Severity {
		want = audit.ReasonRefreshed
	}
	if len(all) != 1 || all[0].Why != want {
		t.Fatalf("it is not %s: %+v", want, all)
	}
	return &audit.Published{Transitions: all}
}

func unwritten(p *audit.Published) *audit.Published {
	for i := range p.Transitions {
		p.Transitions[i].Unwritten = true
	}
	return p
}

func TestLiveEventsAreInTheNamespaceOfTheObject(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a", "gone", "going")
	client := clientset(t, c.Config(kubetest.Admin))
	must(client.NetworkingV1().IngressClasses().Create(t.Context(), &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/c"},
	}, metav1.CreateOptions{}))(t)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cilium-config"}}
	must(client.CoreV1().ConfigMaps("kube-system").Create(t.Context(), settings, metav1.CreateOptions{}))(t)
	if err := client.NetworkingV1().Ingresses("gone").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// Without a controller it stays in this state.
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "going", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	events := eventRecorder(t, c, events.Options{}, eventRight)
	r := on(aRecord("shop.example.com"),
		webOf("team-a"), webOf("team-a"), // two parts of one object
		webOf("gone"), webOf("going"), webOf("never-was"),
		snapshot.Ref{Kind: "Namespace", Name: "team-a"},
		snapshot.Ref{Group: "networking.k8s.io", Kind: "IngressClass", Name: "public"},
		snapshot.Ref{Kind: "ConfigMap", Namespace: "kube-system", Name: "cilium-config"}, // which a sweep gets and does not list
		snapshot.Ref{Group: "example.com", Kind: "Unserved", Namespace: "team-a", Name: "web"},
		snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Name: "web"}, // of no namespace
	)
	if diff := cmp.Diff(sent, events.Record(t.Context(), monday, became(audit.ReasonOpened, r))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	want := map[string]int{
		"team-a: Ingress team-a/web": 1, "default: Namespace /team-a": 1, "default: IngressClass /public": 1,
		"kube-system: ConfigMap kube-system/cilium-config": 1,
	}
	if diff := cmp.Diff(want, countByObject(recordedEvents(t, c))); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	out := must(c.Kubectl(t.Context(), "describe", "ingressclass", "public"))(t)
	if !strings.Contains(describedEvents(out), "FindingOpened") {
		t.Errorf("kubectl describe ingressclass:\n%s", out)
	}
	// kubectl describe namespace shows no Events at all.
	out = must(c.Kubectl(t.Context(), "events", "-n", "default", "--for", "namespace/team-a"))(t)
	if !strings.Contains(out, "FindingOpened") {
		t.Errorf("kubectl events --for namespace:\n%s", out)
	}
}

// TestLiveDescribeShowsEventsOfCustomKinds: only discovery knows their plural
// and versions, and two groups have a kind of the same name.
func TestLiveDescribeShowsEventsOfCustomKinds(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	manifest := filepath.Join(t.TempDir(), "routes.yaml")
	if err := os.WriteFile(manifest, []byte(`apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: web, namespace: default}
spec: {routes: [{kind: Rule, match: "Host(`+"`shop.example.com`"+`)"}]}
---
apiVersion: traefik.containo.us/v1alpha1
kind: IngressRoute
metadata: {name: web, namespace: default}
spec: {routes: [{kind: Rule, match: "Host(`+"`shop.example.com`"+`)"}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	must(c.Kubectl(t.Context(), "apply", "-f", manifest))(t)
	events := newEvents(t, c.Config(kubetest.Admin), events.Options{})
	for _, row := range []struct{ group, other string }{
		{"traefik.io", "traefik.containo.us"},
		{"traefik.containo.us", "traefik.io"},
	} {
		r := on(aRecord("shop.example.com"), snapshot.Ref{Group: row.group, Kind: "IngressRoute", Namespace: "default", Name: "web"})
		r.Message = "seen in " + row.group
		if diff := cmp.Diff(sent, events.Record(t.Context(), monday, became(audit.ReasonOpened, r))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.group, diff)
		}
		shown := describedEvents(must(c.Kubectl(t.Context(), "describe", "ingressroutes."+row.group, "web"))(t))
		if !strings.Contains(shown, "seen in "+row.group+" ") || strings.Contains(shown, "seen in "+row.other+" ") {
			t.Errorf("kubectl describe ingressroutes.%s shows:\n%s", row.group, shown)
		}
	}
}

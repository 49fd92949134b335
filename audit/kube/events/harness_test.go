package events_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/events"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

// home is the namespace of the findings.
const home = "audit"

func clientset(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	return must(kubernetes.NewForConfig(cfg))(t)
}

func serve(t *testing.T, handler http.Handler) *rest.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// monday is when the findings of tests are first seen.
var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// aRecord is an open finding on a host, with a field of each type.
func aRecord(host string) audit.Record {
	s := rules.Subject{Kind: "Host", Name: host}
	return audit.Record{
		Finding: audit.Finding{
			ID: rules.ID("one-owner-per-host", s), Rule: "one-owner-per-host", Severity: rules.High, Subject: s,
			Verdict: "contested", Owners: []string{"team-a", "team-b"},
			Message: host + " is claimed twice", Cause: "both were created in one second", Remedy: "agree",
			State: audit.StateOpen, FirstSeen: monday,
			Objects: []rules.Object{{
				Ref:   snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "team-a", Name: "web"},
				Owner: "team-a", Created: monday.Add(-time.Hour), Reason: "rule", Detail: "/",
			}},
		},
		Reason: audit.ReasonOpened, OpenedAt: monday,
	}
}

// eventRight is the only right that Events need in addition to those of a sweep.
var eventRight = rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}}

// sweepRights are those of a sweep, as far as these tests need them.
var sweepRights = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list"}},
	{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses", "ingressclasses"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cilium-config"}, Verbs: []string{"get"}},
}

// eventRecorder returns a recorder of Events for the guest, who has the rights of a sweep
// and the given ones.
func eventRecorder(t *testing.T, c *kubetest.Cluster, opts events.Options, more ...rbacv1.PolicyRule) *events.Recorder {
	t.Helper()
	for _, rule := range append(more, sweepRights...) {
		if err := c.Allow(t.Context(), kubetest.Guest, rule); err != nil {
			t.Fatal(err)
		}
	}
	return newEvents(t, c.Config(kubetest.Guest), opts)
}

func newEvents(t *testing.T, cfg *rest.Config, opts events.Options) *events.Recorder {
	t.Helper()
	opts.Sleep = func(context.Context, time.Duration) {}
	events, err := events.New(cfg, home, opts)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// makeIngresses creates the namespaces, with one Ingress "web" in each.
func makeIngresses(t *testing.T, c *kubetest.Cluster, namespaces ...string) {
	t.Helper()
	client := clientset(t, c.Config(kubetest.Admin))
	for _, ns := range namespaces {
		must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}))(t)
		web := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
			}},
		}
		must(client.NetworkingV1().Ingresses(ns).Create(t.Context(), web, metav1.CreateOptions{}))(t)
	}
}

func webOf(namespace string) snapshot.Ref {
	return snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: namespace, Name: "web"}
}

// on makes a record be about objects.
func on(r audit.Record, refs ...snapshot.Ref) audit.Record {
	r.Objects = nil
	for _, ref := range refs {
		r.Objects = append(r.Objects, rules.Object{Ref: ref})
	}
	return r
}

// became is a sweep that did one thing to each record.
func became(why audit.Reason, records ...audit.Record) *audit.Published {
	p := &audit.Published{}
	for _, r := range records {
		p.Transitions = append(p.Transitions, audit.Transition{Record: r, Why: why, Write: true})
	}
	return p
}

// recordedEvents returns all Events of the program, by namespace and name.
func recordedEvents(t *testing.T, c *kubetest.Cluster) []eventsv1.Event {
	t.Helper()
	list, err := clientset(t, c.Config(kubetest.Admin)).EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var own []eventsv1.Event
	for _, e := range list.Items {
		if e.ReportingController == "eventuallytrue.dev/audit" {
			own = append(own, e)
		}
	}
	return own
}

// countByObject returns how many Events are on each object.
func countByObject(list []eventsv1.Event) map[string]int {
	n := map[string]int{}
	for _, e := range list {
		n[e.Namespace+": "+e.Regarding.Kind+" "+e.Regarding.Namespace+"/"+e.Regarding.Name]++
	}
	return n
}

// letters are the parts of hostile texts; some are not letters.
var letters = []string{
	"a", "Z", "-", ".", "_", "/", " ", "<", "&", "\"", "\\", "\n", "\r", "\t", "\x00", "\x1b[2J", "\x7f",
	"\xff", "\xc3\x28", "\xed\xa0\x80", "é", "е", "…", "\u2028", "\u202e", "\ufeff", "\ufffd", "\U0001F4A9", "=", ",", "null", "owner",
}

// text returns a text of zero, one, about limit, or more letters.
func text(r *rand.Rand, limit int) string {
	n := []int{0, 1, 7, limit - 1, limit, limit + 1, 3 * limit}[r.IntN(7)]
	var b strings.Builder
	for range n {
		b.WriteString(letters[r.IntN(len(letters))])
	}
	return b.String()
}

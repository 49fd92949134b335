package events_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/events"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestLiveRefusedEventsAreCountedAndTheOthersRecorded(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a", "team-b", "team-c")
	// The right is granted in one namespace only.
	events := eventRecorder(t, c, events.Options{})
	must(c.Kubectl(t.Context(), "create", "role", "events", "-n", "team-b", "--verb=create", "--resource=events.events.k8s.io"))(t)
	must(c.Kubectl(t.Context(), "create", "rolebinding", "events", "-n", "team-b", "--role=events", "--user="+kubetest.Guest))(t)
	awaitRight(t, c, "create", "events.events.k8s.io", "team-b")
	r := on(aRecord("shop.example.com"), webOf("team-a"), webOf("team-b"), webOf("team-c"))
	want := []audit.Delivery{
		{Sender: "events", Result: audit.DeliveryRefused, Reason: `2 of 3 Events, such as the one on Ingress team-a/web: ` +
			`User "guest" cannot create resource "events" in API group "events.k8s.io" in the namespace "team-a"`},
		sent[0],
	}
	if diff := cmp.Diff(want, events.Record(t.Context(), monday, became(audit.ReasonOpened, r))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"team-b: Ingress team-b/web": 1}, countByObject(recordedEvents(t, c))); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func TestLiveObjectsThatMayNotBeReadAreCounted(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a")
	if err := c.Allow(t.Context(), kubetest.Guest, eventRight); err != nil {
		t.Fatal(err)
	}
	events := newEvents(t, c.Config(kubetest.Guest), events.Options{})
	got := events.Record(t.Context(), monday, became(audit.ReasonOpened, on(aRecord("shop.example.com"), webOf("team-a"))))
	if len(got) != 1 || got[0].Result != audit.DeliveryRefused || !strings.Contains(got[0].Reason, "cannot list resource") {
		t.Errorf("deliveries: %+v", got)
	}
}

// TestLiveEventsAreRetriedUnlessRefused has a server that fails in
// every way before it responds, and one that never responds.
func TestLiveEventsAreRetriedUnlessRefused(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a")
	r := on(aRecord("shop.example.com"), webOf("team-a"))
	unavailable := kubetest.Fail(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "come again")
	invalid := kubetest.Fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "a hook does not like it")
	const storing, looking, asking = "/events", "/ingresses", "/apis"
	for _, row := range []struct {
		name   string
		of     string // the requests that fail
		fails  int    // how often
		answer kubetest.Answer
		want   audit.DeliveryResult
	}{
		{"the third try to store it succeeds", storing, 2, unavailable, audit.DeliverySent},
		{"it is stored and the response ends early", storing, 1, kubetest.Cut(1), audit.DeliverySent},
		{"it cannot be stored", storing, 1000, unavailable, audit.DeliveryFailed},
		{"it is not wanted", storing, 1, invalid, audit.DeliveryRefused},
		{"its object cannot be read", looking, 1000, unavailable, audit.DeliveryFailed},
		{"discovery fails", asking, 1000, unavailable, audit.DeliveryFailed},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxy := c.StartProxy(t, kubetest.First(row.fails, func(r *http.Request) bool {
				return strings.HasSuffix(r.URL.Path, row.of)
			}, row.answer))
			must(c.Kubectl(t.Context(), "delete", "events", "-A", "--all"))(t)
			got := newEvents(t, proxy.Config(kubetest.Admin), events.Options{}).Record(t.Context(), monday, became(audit.ReasonOpened, r))
			if len(got) != 1 || got[0].Result != row.want {
				t.Errorf("deliveries: %+v, want %s", got, row.want)
			}
			if n := len(recordedEvents(t, c)); (n == 1) != (row.want == audit.DeliverySent) {
				t.Errorf("%d Events, and the result is %s", n, row.want)
			}
		})
	}
}

// TestLiveManyRecordersMakeEachEventOnce: a lease may be lost, or there is none.
func TestLiveManyRecordersMakeEachEventOnce(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a", "team-b")
	r := on(aRecord("shop.example.com"), webOf("team-a"), webOf("team-b"))
	events := eventRecorder(t, c, events.Options{}, eventRight)
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			if diff := cmp.Diff(sent, events.Record(t.Context(), monday, became(audit.ReasonOpened, r))); diff != "" {
				t.Errorf("deliveries (-want +got):\n%s", diff)
			}
		})
	}
	wait.Wait()
	if n := len(recordedEvents(t, c)); n != 2 {
		t.Errorf("%d Events, want 2", n)
	}
}

func TestLiveTooManyEventsAreLeftOutAndCounted(t *testing.T) {
	c := control.Cluster(t)
	namespaces := []string{"team-a", "team-b", "team-c", "team-d"}
	makeIngresses(t, c, namespaces...)
	var refs []snapshot.Ref
	for _, ns := range namespaces {
		refs = append(refs, webOf(ns))
	}
	large, small := on(aRecord("large.example.com"), refs...), on(aRecord("small.example.com"), refs[0])
	large.MoreObjects = 7
	for _, row := range []struct {
		name string
		opts events.Options
		want string
		n    int
	}{
		{"all fit", events.Options{}, "7 objects beyond the limit got no Event", 5},
		{"two of each finding", events.Options{PerFinding: 2}, "9 objects beyond the limit got no Event", 3},
		{"two of a sweep: one of each finding", events.Options{PerSweep: 2}, "10 objects beyond the limit got no Event", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			must(c.Kubectl(t.Context(), "delete", "events", "-A", "--all"))(t)
			got := newEvents(t, c.Config(kubetest.Admin), row.opts).Record(t.Context(), monday, became(audit.ReasonOpened, large, small))
			if diff := cmp.Diff([]audit.Delivery{{Sender: "events", Result: audit.DeliverySent, Reason: row.want}}, got); diff != "" {
				t.Errorf("deliveries (-want +got):\n%s", diff)
			}
			told := map[string]bool{}
			list := recordedEvents(t, c)
			for _, e := range list {
				told[e.Related.Name] = true
			}
			if len(list) != row.n || len(told) != 2 {
				t.Errorf("%d Events of %d findings, want %d of 2", len(list), len(told), row.n)
			}
		})
	}
}

// TestLiveHostileTextsAreAcceptedAndPrintable: the API server refuses texts that are
// too long and accepts all others, so unprintable characters must be removed before.
func TestLiveHostileTextsAreAcceptedAndPrintable(t *testing.T) {
	c := control.Cluster(t)
	makeIngresses(t, c, "team-a")
	r := rand.New(rand.NewPCG(7, 7))
	var records []audit.Record
	for i := range 100 {
		rec := on(aRecord(fmt.Sprintf("h%d.example.com", i)), webOf("team-a"))
		rec.Message, rec.Remedy = text(r, 1024), text(r, 8192)
		records = append(records, rec)
	}
	events := newEvents(t, c.Config(kubetest.Admin), events.Options{Instance: "host\n\x1b[2J" + strings.Repeat("é", 200)})
	if diff := cmp.Diff(sent, events.Record(t.Context(), monday, became(audit.ReasonOpened, records...))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	list := recordedEvents(t, c)
	for _, e := range list {
		bad := strings.ContainsFunc(e.Note+e.ReportingInstance, func(r rune) bool { return !unicode.IsPrint(r) })
		if bad || !utf8.ValidString(e.Note) || !strings.HasSuffix(e.Note, " (high, finding "+e.Related.Name+")") {
			t.Errorf("note %q of %q", e.Note, e.ReportingInstance)
		}
	}
	if len(list) != len(records) {
		t.Errorf("%d Events, want %d", len(list), len(records))
	}
}

// awaitRight returns when a right of the guest in a namespace is effective.
func awaitRight(t *testing.T, c *kubetest.Cluster, verb, resource, namespace string) {
	t.Helper()
	for range 200 {
		out, _ := c.Kubectl(t.Context(), "auth", "can-i", verb, resource, "-n", namespace, "--as", kubetest.Guest)
		if strings.TrimSpace(out) == "yes" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the right of %s does not come", kubetest.Guest)
}

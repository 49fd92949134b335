package source_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const always = 1 << 30

var (
	firstPage = kubetest.Page("ingresses", false)
	laterPage = kubetest.Page("ingresses", true)
)

func anything(*http.Request) bool { return true }

func ok(body string) kubetest.Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

// survivable are ways in which a list of five objects can go wrong, and be read
// to its end all the same.
func survivable(resource string) map[string]kubetest.Decide {
	first, later := kubetest.Page(resource, false), kubetest.Page(resource, true)
	return map[string]kubetest.Decide{
		"page by page": kubetest.First(0, anything, nil),
		"again from the start where a page expires":  kubetest.First(1, later, kubetest.Expire()),
		"even where three lists expire":              kubetest.First(3, later, kubetest.Expire()),
		"even where the first page is gone once":     kubetest.First(1, first, kubetest.Expire()),
		"even where a gateway says gone in its way":  kubetest.First(1, later, kubetest.Text(410, "gone")),
		"after a 429 that says when":                 kubetest.First(3, later, kubetest.TooManyRequests(0)),
		"after more of them than client-go bears":    kubetest.First(15, later, kubetest.TooManyRequests(0)),
		"after a 429 that does not say when":         kubetest.First(3, later, kubetest.TooManyRequests(-1)),
		"after an error of the server":               kubetest.First(1, later, kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd")),
		"after a gateway that found nobody":          kubetest.First(4, first, kubetest.Text(502, "<html>")),
		"after an answer that was cut":               kubetest.First(1, later, kubetest.Cut(30)),
		"after four answers that were cut":           kubetest.First(4, first, kubetest.Cut(30)),
		"after an answer that is another page's":     kubetest.First(1, later, ok(`{"kind":"PodList","apiVersion":"v1"}`)),
		"after the login page of a gateway":          kubetest.First(1, first, kubetest.Text(200, "<html>log in</html>")),
		"after an answer that is a list of nothing":  kubetest.First(1, first, ok(`{}`)),
		"after an answer that is garbled on its way": kubetest.First(1, later, ok(`{"metadata":{"resourceVersion":"7"},"items":[{"meta`)),
	}
}

func TestIngressesAreRead(t *testing.T) {
	for name, decide := range survivable("ingresses") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
			s := read(t, source, ingresses)
			checkRead(t, s, snapshot.Ingresses)
			if diff := cmp.Diff([]string{"i1", "i2", "i3", "i4", "i5"}, ingressNames(s)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// checkRead holds that all five objects of a kind were read, and nothing else.
func checkRead(t *testing.T, s *snapshot.Snapshot, kind snapshot.Kind) {
	t.Helper()
	want := []snapshot.Read{{Kind: kind, Version: "v1", Status: snapshot.Listed, Items: 5}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestExpiredListThrowsAwayWhatWasRead(t *testing.T) {
	api := newFakeAPI()
	expire := kubetest.First(1, laterPage, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		api.remove(ingressesPath)
		kubetest.Expire()(w, r, next)
	})
	source := newSource(t, serve(t, kubetest.Disturb(api, expire)), source.Options{})
	if diff := cmp.Diff([]string{"i2", "i3", "i4", "i5"}, ingressNames(read(t, source, ingresses))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestKindThatIsNotServedIsAbsent(t *testing.T) {
	source := newSource(t, serve(t, newFakeAPI()), source.Options{})
	s := read(t, source, []snapshot.Kind{snapshot.NetworkPolicies, snapshot.Deployments, snapshot.Ingresses})
	want := []snapshot.Read{
		{Kind: snapshot.Deployments, Version: "v1", Status: snapshot.Absent},
		{Kind: snapshot.Ingresses, Version: "v1", Status: snapshot.Listed, Items: 5},
		{Kind: snapshot.NetworkPolicies, Version: "v1", Status: snapshot.Absent},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestNamespacesKeepTheAnnotationOfTheirChannel(t *testing.T) {
	list := ok(`{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
		{"metadata":{"name":"a","annotations":{"example.com/channel":"team-a","note":"x"}}}]}`)
	source := newSource(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { list(w, r, nil) })),
		source.Options{ChannelAnnotation: "example.com/channel"})
	s := read(t, source, []snapshot.Kind{snapshot.Namespaces})
	if ns := s.Namespace("a"); ns == nil || ns.Channel != "team-a" {
		t.Errorf("read as %+v, want channel team-a", ns)
	}
	var fresh snapshot.Builder
	part := snapshot.Part{Kind: snapshot.Namespaces, Namespace: "a"}
	if _, _, err := source.Reread(t.Context(), []snapshot.Part{part}, s.Version, &fresh); err != nil {
		t.Fatal(err)
	}
	if ns := fresh.Freeze().Namespace("a"); ns == nil || ns.Channel != "team-a" {
		t.Errorf("read again as %+v, want channel team-a", ns)
	}
}

func TestServerWithoutNamespacesIsNoCluster(t *testing.T) {
	source := newSource(t, serve(t, http.NotFoundHandler()), source.Options{})
	kinds := []snapshot.Kind{snapshot.Namespaces, snapshot.Pods, snapshot.Ingresses}
	for _, r := range read(t, source, kinds).Reads() {
		if r.Status != snapshot.Failed || !strings.Contains(r.Err, "is it") {
			t.Errorf("%s is %s (%s), want failed", r.Kind, r.Status, r.Err)
		}
	}
}

func TestPodsThatAreNotServedAreUnknown(t *testing.T) {
	api := newFakeAPI()
	delete(api.names, podsPath)
	s := read(t, newSource(t, serve(t, api), source.Options{}), []snapshot.Kind{snapshot.Pods})
	if got := s.Status(snapshot.Pods); got != snapshot.Failed {
		t.Errorf("pods are %s, want failed", got)
	}
}

func TestKindThatNobodyCanReadFails(t *testing.T) {
	source := newSource(t, serve(t, newFakeAPI()), source.Options{})
	s := read(t, source, []snapshot.Kind{"unicorns.example.com"})
	want := []snapshot.Read{{
		Kind: "unicorns.example.com", Status: snapshot.Failed, Err: "this kind cannot be read from an API server",
	}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

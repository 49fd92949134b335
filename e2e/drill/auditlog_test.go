package drill

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// event is a line of the audit log: an attempted write and the response.
type event struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code   int    `json:"code"`
		Reason string `json:"reason"`
	} `json:"responseStatus"`
}

// is reports whether the event is about a resource.
func (e *event) is(resource string) bool { return e.ObjectRef.Resource == resource }

// auditLog is the audit log of the API server from an offset on.
type auditLog struct {
	c    site
	from int
}

// followAuditLog returns the audit log from now on.
func followAuditLog(t *testing.T, c site) *auditLog {
	t.Helper()
	return &auditLog{c, len(settled(t, c))}
}

// attempts returns the attempted writes of a user, in the order of the responses.
func (l *auditLog) attempts(t *testing.T, user string) []event {
	t.Helper()
	var out []event
	for line := range bytes.Lines(settled(t, l.c)[l.from:]) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("decode %s: %v", line, err)
		}
		if e.Stage == "ResponseComplete" && e.User.Username == user {
			out = append(out, e)
		}
	}
	return out
}

// settled returns the audit log once it contains all requests so far: a line is written
// a moment after the response.
func settled(t *testing.T, c site) []byte {
	t.Helper()
	maps := clientset(t, c, kubetest.Admin).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	mark, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "mark-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), mark.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var log []byte
	await(t, "the audit log", func() bool {
		log, err = os.ReadFile(filepath.Join(c.Dir, auditLogFile))
		return err == nil && bytes.HasSuffix(log, []byte("\n")) && strings.Contains(string(log), mark.Name)
	})
	return log
}

// await waits up to a minute until a condition is true.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// view is a finding after a write.
type view struct {
	kind    apiwatch.EventType
	name    string
	version string
	state   string
	content string // the status without times and reasons
}

// observations are the views of all findings that a watch returned, in order.
type observations struct {
	mu    sync.Mutex
	views []view
	ends  []int // the number of views at the end of each round
}

// watchFindings starts to watch the findings.
func watchFindings(t *testing.T, c site) *observations {
	t.Helper()
	_, version := stored(t, c)
	w, err := findingsOf(t, c).Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	s := &observations{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			// The last event may be an error because the watch is interrupted.
			if u, ok := e.Object.(*unstructured.Unstructured); ok {
				s.add(e.Type, u)
			}
		}
	}()
	t.Cleanup(func() { w.Stop(); <-done })
	return s
}

func (s *observations) add(kind apiwatch.EventType, u *unstructured.Unstructured) {
	v := view{kind: kind, name: u.GetName(), version: u.GetResourceVersion()}
	v.state, _, _ = unstructured.NestedString(u.Object, "status", "state")
	if status, ok, _ := unstructured.NestedMap(u.Object, "status"); ok {
		for _, when := range []string{"firstSeen", "openedAt", "resolvedAt", "reason"} {
			delete(status, when)
		}
		sent, _ := status["notifications"].([]any)
		for _, m := range sent {
			if m, ok := m.(map[string]any); ok {
				delete(m, "at")
				delete(m, "claimedAt")
			}
		}
		// It was decoded from JSON, so it can be encoded.
		content, _ := json.Marshal(status)
		v.content = string(content)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views = append(s.views, v)
}

// endRound waits until the watch has returned the stored findings, which must not
// change any more, and ends the round.
func (s *observations) endRound(t *testing.T, c site) {
	t.Helper()
	now, _ := stored(t, c)
	await(t, "the watch", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !slices.ContainsFunc(now, func(f v1alpha1.Finding) bool {
			return !slices.ContainsFunc(s.views, func(v view) bool { return v.name == f.Name && v.version == f.ResourceVersion })
		})
	})
	expectNothingPending(t, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, len(s.views))
}

// count adds the observations to the counts.
func (s *observations) count(n *counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.persisted = len(s.views)
	created := map[string]int{}
	for _, v := range s.views {
		if v.kind == apiwatch.Added {
			created[v.name]++
		}
	}
	for _, times := range created {
		n.openedTwice += times - 1
	}
	n.stateFlapped = s.flapping(func(v view) string { return v.state })
	n.contentFlapped = s.flapping(func(v view) string { return v.content })
}

// flapping counts the findings that changed a property and changed it back within one
// round.
func (s *observations) flapping(of func(view) string) int {
	flapped := map[string]bool{}
	last := map[string]string{}
	from := 0
	for _, to := range s.ends {
		were := map[string][]string{}
		for name, was := range last {
			were[name] = []string{was}
		}
		for _, v := range s.views[from:to] {
			is := of(v)
			if last[v.name] != is && slices.Contains(were[v.name], is) {
				flapped[v.name] = true
			}
			were[v.name] = append(were[v.name], is)
			last[v.name] = is
		}
		from = to
	}
	return len(flapped)
}

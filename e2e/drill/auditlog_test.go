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

// event is one line of the audit log: an attempt to write, and its answer.
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

// is reports whether the attempt was on a resource.
func (e *event) is(resource string) bool { return e.ObjectRef.Resource == resource }

// trail is the API server's audit log from a moment on.
type auditLog struct {
	c    site
	from int
}

// follow returns what the audit log will hold from now on.
func followAuditLog(t *testing.T, c site) *auditLog {
	t.Helper()
	return &auditLog{c, len(settled(t, c))}
}

// attempts are the writes of a user, in the order of their answers.
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

// settled returns the audit log once it holds all that was answered: a line is
// written a moment after its answer.
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

// await waits until something is so, and not for ever.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// view is a finding as one write left it.
type view struct {
	kind    apiwatch.EventType
	name    string
	version string
	state   string
	content string // all that it says, but for when and why
}

// sight is all that a watch saw of the findings, in order.
type observations struct {
	mu    sync.Mutex
	views []view
	ends  []int // how many views there were at the end of each round
}

// watch begins to watch the findings.
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
			// The last word may be an error, since the watch is broken off.
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
		told, _ := status["notifications"].([]any)
		for _, m := range told {
			if m, ok := m.(map[string]any); ok {
				delete(m, "at")
				delete(m, "claimedAt")
			}
		}
		// What came from JSON goes back to it.
		content, _ := json.Marshal(status)
		v.content = string(content)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views = append(s.views, v)
}

// endRound waits until the watch has seen what is stored, which nobody may write any
// more, and ends a round.
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

// count adds what was seen.
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

// returns counts the findings that were again, within one round, what they had been
// before and were not in between.
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

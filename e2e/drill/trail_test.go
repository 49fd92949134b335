package drill

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
type trail struct {
	c    site
	from int
}

// follow returns what the audit log will hold from now on.
func follow(t *testing.T, c site) *trail {
	t.Helper()
	return &trail{c, len(settled(t, c))}
}

// attempts are the writes of a user, in the order of their answers.
func (l *trail) attempts(t *testing.T, user string) []event {
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
	maps := typed(t, c, kubetest.Admin).CoreV1().ConfigMaps(metav1.NamespaceDefault)
	mark, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "mark-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), mark.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var log []byte
	await(t, "the audit log", func() bool {
		log, err = os.ReadFile(filepath.Join(c.Dir, trailFile))
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

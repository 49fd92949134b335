package report

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzRead holds that whatever a file holds that is said to be an earlier report,
// it gives one or an error; and that a report which is read can be written and
// read again as the same.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"broken.json", "broken.yaml", "hostile.json", "hostile.yaml"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	const head = "apiVersion: " + APIVersion + "\nkind: " + Kind + "\n"
	for _, seed := range []string{
		"", "null", "[]", "{", "\x00", "x: &a [*a]\n", "---\n---\n", head, head + "---\n" + head, head + "findings: {}\n",
		head + "findings: [null, {id: a, firstSeen: 1}]\n", head + "findings: [{id: a, firstSeen: 2026-05-01T10:00:00Z}, {id: a}]\n",
		head + "isolation: [{namespace: \"\\u202e\", ingress: x}]\nstartedAt: 0001-01-01T00:00:00Z\n", head + "kinds: [{items: 1e3}]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(bytes.NewReader(data))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "read report: ") {
				t.Errorf("an error that does not say of what: %v", err)
			}
			return
		}
		written, err := encoded(YAML, r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := Read(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		same := []cmp.Option{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })}
		if diff := cmp.Diff(r.Previous(), again.Previous(), same...); diff != "" {
			t.Errorf("it tells a later sweep something else once it is written (-before +after):\n%s", diff)
		}
	})
}

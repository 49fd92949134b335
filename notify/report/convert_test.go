package report

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// FuzzRead checks that any file yields a report or an error, and that a report that
// was read can be written and read again with the same result.
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
				t.Errorf("an error without context: %v", err)
			}
			return
		}
		written, err := encoded(YAML, r)
		if err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		again, err := Read(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		same := []cmp.Option{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })}
		if diff := cmp.Diff(r.Previous(), again.Previous(), same...); diff != "" {
			t.Errorf("Previous changes after writing and reading (-before +after):\n%s", diff)
		}
	})
}

func TestReportTimes(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	for _, row := range []struct {
		name string
		in   time.Time
		want string
	}{
		{"times are in UTC", time.Date(2026, 9, 29, 12, 0, 0, 0, east), `"createdAt": "2026-09-29T10:00:00Z"`},
		{"an unknown time is omitted", time.Time{}, ""},
		{"so is one that RFC 3339 cannot express", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), ""},
		{"even if only in UTC", time.Date(0, 1, 1, 0, 0, 0, 0, east), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := &audit.Result{Findings: []audit.Finding{{Objects: []rules.Object{{Created: row.in}}}}}
			out := write(t, JSON, res, Options{})
			if row.want == "" && strings.Contains(out, "createdAt") || !strings.Contains(out, row.want) {
				t.Errorf("want %s in\n%s", row.want, out)
			}
		})
	}
}

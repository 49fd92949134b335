package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// olderDefinition is the definition without some fields, given by name and indentation.
func olderDefinition(t *testing.T, fields ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "api", "v1alpha1", "eventuallytrue.dev_findings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, field := range fields {
		indent := field[:len(field)-len(strings.TrimLeft(field, " "))]
		block := regexp.MustCompile(`(?m)^` + field + `:\n(` + indent + ` .*\n)+`)
		if len(block.FindAllString(text, -1)) != 1 {
			t.Fatalf("%q is not once in the definition", field)
		}
		text = block.ReplaceAllString(text, "")
	}
	file := filepath.Join(t.TempDir(), "older.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLiveFieldsThatTheAPIServerDropsAreNoticed(t *testing.T) {
	const pending, remedy = "                    pending", "              remedy"
	for _, c := range []struct {
		name      string
		drop      []string
		missing   []string
		canNotify bool
	}{
		{"nothing", nil, nil, true},
		{"a text", []string{remedy}, []string{"status.remedy"}, true},
		{"what is pending", []string{pending}, []string{"status.notifications[].pending"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := control.Cluster(t)
			if err := cluster.InstallCRDs(t.Context(), olderDefinition(t, c.drop...)); err != nil {
				t.Fatal(err)
			}
			makeHome(t, cluster)
			r := aRecord("a.example.com")
			r.SetNotification(audit.Notification{Sender: "slack", Owner: "team-a", Pending: audit.EventOpened})
			responses := newStore(t, cluster.Config(kubetest.Admin), store.Options{})
			_, err := responses.Create(t.Context(), r)
			if got := responses.Dropped(); !slices.Equal(got, c.missing) || responses.CanNotify() != c.canNotify || (err == nil) != c.canNotify {
				t.Errorf("by the response: %q, %v", got, err)
			}
			// The schema is published a moment after the definition.
			schema := newStore(t, cluster.Config(kubetest.Admin), store.Options{})
			var got []string
			for range 50 {
				if got = schema.Missing(t.Context()); slices.Equal(got, c.missing) {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if !slices.Equal(got, c.missing) || schema.CanNotify() != c.canNotify {
				t.Errorf("by the schema: %q", got)
			}
			// What is stored equals what the next sweep finds.
			stored, _, err := schema.Load(t.Context())
			if err != nil || len(stored) != 1 {
				t.Fatal(stored, err)
			}
			ev := &audit.Evaluation{Rules: []audit.Outcome{{Rule: r.Rule, Status: audit.RuleRan}}, Findings: []audit.Finding{schema.Fit(r.Finding)}}
			again := audit.Reconciler{Now: monday, Hold: func(string) audit.Hold { return audit.Hold{} }}.Reconcile([]audit.Record{stored[0].Record}, ev)
			if len(again) != 1 || again[0].Write {
				t.Errorf("the same finding is written again: %+v", again)
			}
		})
	}
}

package store

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/rules"
)

// storedSeeds are findings as this program, a newer one, and somebody with an
// editor may have written them.
func storedSeeds() []string {
	subject := rules.Subject{Kind: "Host", Name: "shop.example.com"}
	const rule = "one-owner-per-host"
	head := `{"apiVersion":"eventuallytrue.dev/v1alpha1","kind":"Finding","metadata":{"name":"` + rules.ID(rule, subject) + `",
		"labels":{"rule":"x","team":"y"},"resourceVersion":"7"},"spec":{"rule":"` + rule + `","subject":{"kind":"Host","name":"shop.example.com"}}`
	return []string{
		`{}`, `null`, `[]`, `{"metadata":{"name":["a"]}}`, `{"apiVersion":"eventuallytrue.dev/v1","kind":"Finding"}`,
		head + `}`, head + `,"status":null}`, head + `,"status":{}}`, head + `,"status":{"state":"Closed"}}`,
		head + `,"status":{"state":"Open","later":1}}`, head + `,"status":{"State":"Open"}}`,
		head + `,"status":{"state":"Open","severity":"huge","owners":["","\ud800","a"],"sweeps":-1,"moreObjects":-7,"reopened":2147483647}}`,
		head + `,"status":{"state":"Open","firstSeen":"0001-01-01T00:00:00Z","openedAt":"9999-12-31T23:59:59Z","resolvedAt":null}}`,
		head + `,"status":{"state":"Resolved","reason":"\u202e","objects":[{},{"kind":"Ingress","createdAt":"2026-05-01T10:00:00.5+02:00"}],
			"told":[{},{"sender":"slack","owner":"a","due":"opened","takenBy":"x","takenAt":"2026-05-01T10:00:00Z","takenLeased":true,"last":"?","channel":"\u0000"}]}}`,
		`{"apiVersion":"eventuallytrue.dev/v1alpha1","kind":"Finding","metadata":{"name":"a-0123456789abcdef"},
			"spec":{"rule":"a","subject":{"kind":"Host","name":"long…"}},"status":{"state":"Pending"}}`,
	}
}

// FuzzReadFinding holds that a finding that somebody else wrote is either left
// alone, and said to be, or is one that can be judged, kept and read back: what a
// sweep writes of it is what the next one reads, under the same name, so that no
// such finding is written with every sweep.
func FuzzReadFinding(f *testing.F) {
	for _, seed := range storedSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var raw rawFinding
		if json.Unmarshal(data, &raw) != nil {
			return
		}
		found, err := readFinding(&raw)
		if all, ok := readKnown([]byte(`{"metadata":{"resourceVersion":"7"},"items":[` + string(data) + `]}`)); ok && len(all.findings) == 1 {
			sameAlone(t, all.findings[0], found, err)
		}
		if err != nil {
			if !errors.Is(err, ErrNewer) {
				t.Errorf("it is neither read nor left alone: %v", err)
			}
			return
		}
		first := Fit(newStored(found).Record)
		if first.ID != raw.Metadata.Name {
			t.Errorf("finding %q is read as %q", raw.Metadata.Name, first.ID)
		}
		if found.Status != nil {
			if diff := cmp.Diff(first, rewritten(t, first)); diff != "" {
				t.Errorf("it reads otherwise once it is written (-before +after):\n%s", diff)
			}
		}
		reconciled(t, first)
	})
}

// sameAlone holds that a finding that is read with others is what it is alone.
func sameAlone(t *testing.T, among, alone *v1alpha1.Finding, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("it is read among others and not alone: %v", err)
	}
	if diff := cmp.Diff(newStored(alone), newStored(among)); diff != "" {
		t.Errorf("it is another one among others (-alone +among):\n%s", diff)
	}
}

// A page of what this program writes is read at once, and one with a finding that it
// does not write is not.
func TestReadKnown(t *testing.T) {
	record := Fit(audit.Record{Finding: audit.Finding{
		ID: rules.ID("one-owner-per-host", rules.Subject{Kind: "Host", Name: "a"}), Rule: "one-owner-per-host",
		Subject: rules.Subject{Kind: "Host", Name: "a"}, State: audit.StateOpen,
	}})
	f := newFinding(record)
	f.Status = newStatus(record)
	full := fullMetadata(t)
	full.Name, full.Labels = f.Name, f.Labels
	f.ObjectMeta = full
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	page := func(items string) []byte {
		return []byte(`{"apiVersion":"x","kind":"FindingList","metadata":{"resourceVersion":"7","continue":"c"},"items":[` + items + `]}`)
	}
	all, ok := readKnown(page(string(data)))
	if !ok || len(all.findings) != 1 || all.meta.Continue != "c" || all.meta.ResourceVersion != "7" {
		t.Fatalf("it reads %+v, %t", all, ok)
	}
	for _, seed := range []string{`{}`, strings.Replace(string(data), `"state":`, `"later":1,"state":`, 1), `{"metadata":{"name":["a"]}}`} {
		if _, ok := readKnown(page(string(data) + "," + seed)); ok {
			t.Errorf("a page with %s is read at once", seed)
		}
	}
}

// fullMetadata has every field that there is.
func fullMetadata(t *testing.T) metav1.ObjectMeta {
	t.Helper()
	var m metav1.ObjectMeta
	randfill.New().NilChance(0).NumElements(1, 2).Funcs(
		func(at *metav1.Time, _ randfill.Continue) { *at = metav1.Unix(1_800_000_000, 0) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { *f = *metav1.NewFieldsV1(`{"f:spec":{}}`) },
	).Fill(&m)
	return m
}

// rewritten returns what is read of a record that was written.
func rewritten(t *testing.T, r audit.Record) audit.Record {
	t.Helper()
	f := newFinding(r)
	f.Status = newStatus(r)
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatalf("it cannot be written: %v", err)
	}
	var raw rawFinding
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatalf("what is written is no JSON: %v", err)
	}
	again, err := readFinding(&raw)
	if err != nil {
		t.Fatalf("what is written is not read: %v\n%s", err, data)
	}
	return newStored(again).Record
}

// reconciled checks what becomes of a stored finding in a sweep that finds it
// again, in one that does not, and in one whose rule did not run.
func reconciled(t *testing.T, r audit.Record) {
	t.Helper()
	sweep := audit.Reconciler{
		Now:     time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		Hold:    func(string) audit.Hold { return audit.Hold{} },
		Keep:    time.Hour,
		Senders: func(string, string) []string { return []string{"slack"} },
	}
	ran := []audit.Outcome{{Rule: r.Rule, Status: audit.RuleRan}}
	for why, ev := range map[string]*audit.Evaluation{
		"found again": {Rules: ran, Findings: []audit.Finding{r.Finding}},
		"gone":        {Rules: ran},
		"not judged":  {Rules: []audit.Outcome{{Rule: r.Rule, Status: audit.RuleSkipped}}},
	} {
		out := sweep.Reconcile([]audit.Record{r}, ev)
		if len(out) != 1 || out[0].Record.ID != r.ID || out[0].New {
			t.Errorf("%s: of one finding becomes %+v", why, out)
		}
		if why == "not judged" && (out[0].Delete || out[0].Record.State != r.State) {
			t.Errorf("a rule that did not run makes %s of %s", out[0].Record.State, r.State)
		}
	}
}

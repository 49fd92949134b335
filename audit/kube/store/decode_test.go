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
	"github.com/eventuallytrue/audit/rules"
)

// storedSeeds are findings as this program, a newer one, or a person with an editor may
// have written them.
func storedSeeds() []string {
	subject := rules.Subject{Kind: "Host", Name: "shop.example.com"}
	const rule = "one-owner-per-host"
	head := `{"apiVersion":"eventuallytrue.dev/v1alpha1","kind":"Finding","metadata":{"name":"` + rules.ID(rule, subject) + `",
		"labels":{"rule":"x","team":"y"},"resourceVersion":"7"},"spec":{"rule":"` + rule + `","subject":{"kind":"Host","name":"shop.example.com"}}`
	return []string{
		`{}`, `null`, `[]`, `{"metadata":{"name":["a"]}}`, `{"apiVersion":"eventuallytrue.dev/v1","kind":"Finding"}`,
		head + `}`, head + `,"status":null}`, head + `,"status":{}}`, head + `,"status":{"state":"Closed"}}`,
		head + `,"later":1}`, head + `,"status":{"state":"Open","later":1}}`, head + `,"status":{"State":"Open"}}`,
		head + `,"status":{"state":"Open","severity":"huge","owners":["","\ud800","a"],"sweeps":-1,"moreObjects":-7,"reopened":2147483647}}`,
		head + `,"status":{"state":"Open","firstSeen":"0001-01-01T00:00:00Z","openedAt":"9999-12-31T23:59:59Z","resolvedAt":null}}`,
		head + `,"status":{"state":"Resolved","reason":"\u202e","objects":[{},{"kind":"Ingress","createdAt":"2026-05-01T10:00:00.5+02:00"}],
			"notifications":[{},{"sender":"slack","owner":"a","pending":"opened","claimedBy":"x","claimedAt":"2026-05-01T10:00:00Z","claimedWithLease":true,"last":"?","channel":"\u0000"}]}}`,
		`{"apiVersion":"eventuallytrue.dev/v1alpha1","kind":"Finding","metadata":{"name":"a-0123456789abcdef"},
			"spec":{"rule":"a","subject":{"kind":"Host","name":"long…"}},"status":{"state":"Pending"}}`,
	}
}

// FuzzDecode checks that a finding that something else wrote is either left alone, and
// reported as such, or can be evaluated, kept and read back: what a sweep writes for it
// is what the next one reads, under the same name, so that no such finding is written
// in every sweep.
func FuzzDecode(f *testing.F) {
	for _, seed := range storedSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := decode(data)
		if found == nil {
			if err == nil || errors.Is(err, ErrNewer) {
				t.Errorf("there is no finding, and the error is %v", err)
			}
			return
		}
		if err != nil {
			if !errors.Is(err, ErrNewer) {
				t.Errorf("it is neither decoded nor left alone: %v", err)
			}
			return
		}
		var head struct {
			Metadata struct{ Name string }
		}
		if err := json.Unmarshal(data, &head); err != nil {
			t.Fatal(err)
		}
		first := Fit(newStored(found).Record)
		if first.ID != head.Metadata.Name {
			t.Errorf("finding %q is read as %q", head.Metadata.Name, first.ID)
		}
		if found.Status != nil {
			if diff := cmp.Diff(first, rewritten(t, first)); diff != "" {
				t.Errorf("it reads differently once it is written (-before +after):\n%s", diff)
			}
		}
		reconciled(t, first)
	})
}

// A finding with every field of metadata that exists is decoded, and one with a field
// in its spec or status, or beside them, that this program does not know is not.
func TestDecodeDropsNoField(t *testing.T) {
	record := Fit(audit.Record{Finding: audit.Finding{
		ID: rules.ID("one-owner-per-host", rules.Subject{Kind: "Host", Name: "a"}), Rule: "one-owner-per-host",
		Subject: rules.Subject{Kind: "Host", Name: "a"}, State: audit.StateOpen,
	}})
	f := newFinding(record)
	f.Status = newStatus(record)
	full := fullMetadata(t)
	full.Name = f.Name
	f.ObjectMeta = full
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	f.ObjectMeta = metav1.ObjectMeta{Name: full.Name, ResourceVersion: full.ResourceVersion, Labels: full.Labels}
	if diff := cmp.Diff(f, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	for _, at := range []string{`"state":`, `"rule":`, `"status":`} {
		if got, err := decode([]byte(strings.Replace(string(data), at, `"later":1,`+at, 1))); !errors.Is(err, ErrNewer) || got.Name != f.Name {
			t.Errorf("with a field before %s it is decoded: %v, %v", at, got, err)
		}
	}
	if _, err := decode([]byte(strings.Replace(string(data), `"name":`, `"later":1,"name":`, 1))); err != nil {
		t.Errorf("an unknown field in metadata: %v", err)
	}
}

// fullMetadata has every field set.
func fullMetadata(t *testing.T) metav1.ObjectMeta {
	t.Helper()
	var m metav1.ObjectMeta
	randfill.New().NilChance(0).NumElements(1, 2).Funcs(
		func(at *metav1.Time, _ randfill.Continue) { *at = metav1.Unix(1_800_000_000, 0) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { *f = *metav1.NewFieldsV1(`{"f:spec":{}}`) },
	).Fill(&m)
	return m
}

// rewritten returns a record that was written and read back.
func rewritten(t *testing.T, r audit.Record) audit.Record {
	t.Helper()
	f := newFinding(r)
	f.Status = newStatus(r)
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatalf("it cannot be written: %v", err)
	}
	again, err := decode(data)
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

package store_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

func TestLiveStore(t *testing.T) {
	c := findingsCluster(t)
	findings := newStore(t, c.Config(kubetest.Admin), store.Options{})
	for _, tt := range []struct {
		name string
		test func(*testing.T, *kubetest.Cluster, *store.Store)
	}{
		{"keeps a record as it is, through its life", testLife},
		{"lets one of twenty create a finding", testExclusive},
		{"refuses to update or delete what another publisher has changed", testLostUpdate},
		{"recognizes a finding whose status was not written", testBare},
		{"writes labels again after an interruption between labels and status", testTornLabels},
		{"takes a finding whose response was lost for another publisher's", testLostAnswer},
		{"starts again where the list expires between two pages", testExpiredList},
		{"says which namespace is missing", testNoNamespace},
		{"keeps the labels of other programs", testOtherLabels},
		{"does not take a missing name for all findings", testNoName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clearFindings(t, c)
			tt.test(t, c, findings)
		})
	}
}

func testLife(t *testing.T, c *kubetest.Cluster, findings *store.Store) {
	r := aRecord("a.example.com")
	st := must(findings.Create(t.Context(), r))(t)
	sameRecord(t, r, st.Record)
	sameRecord(t, r, must(findings.Get(t.Context(), r.ID))(t).Record)
	if got := printed(t, c, "-l", "owner.eventuallytrue.dev/team-b=true,rule=one-owner-per-host,state=Open"); !strings.Contains(got, r.ID) {
		t.Errorf("it cannot be selected by labels: %s", got)
	}
	st.State, st.Reason, st.ResolvedAt, st.Owners = audit.StateResolved, audit.ReasonResolved, monday.Add(time.Hour), []string{"team-a"}
	want := st.Record
	st = must(findings.Update(t.Context(), st))(t)
	sameRecord(t, want, st.Record)
	if got := printed(t, c, "-l", "owner=team-a,state=Resolved"); !strings.Contains(got, r.ID) {
		t.Errorf("it cannot be selected by its new labels: %s", got)
	}
	if got := printed(t, c, "-l", "owner.eventuallytrue.dev/team-b"); strings.Contains(got, r.ID) {
		t.Errorf("the label of an owner it lost is still there: %s", got)
	}
	if err := findings.Delete(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	if err := findings.Delete(t.Context(), st); err != nil {
		t.Errorf("delete what is gone: %v", err)
	}
	if _, err := findings.Get(t.Context(), r.ID); !errors.Is(err, audit.ErrNotStored) {
		t.Errorf("get what is gone: %v", err)
	}
	if _, err := findings.Update(t.Context(), st); !errors.Is(err, audit.ErrNotStored) {
		t.Errorf("update what is gone: %v", err)
	}
}

func testExclusive(t *testing.T, _ *kubetest.Cluster, findings *store.Store) {
	r := aRecord("a.example.com")
	errs := make([]error, 20)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { _, errs[i] = findings.Create(t.Context(), r) })
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, audit.ErrStored):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d created it", won, len(errs))
	}
}

func testLostUpdate(t *testing.T, _ *kubetest.Cluster, findings *store.Store) {
	st := must(findings.Create(t.Context(), aRecord("a.example.com")))(t)
	theirs := st
	theirs.Message = "theirs"
	theirs = must(findings.Update(t.Context(), theirs))(t)
	sameLabels, otherLabels := st, st
	sameLabels.Message = "ours"
	otherLabels.State = audit.StateResolved
	for _, ours := range []audit.Stored{sameLabels, otherLabels} {
		if _, err := findings.Update(t.Context(), ours); !errors.Is(err, audit.ErrConflict) {
			t.Errorf("update an older version: %v", err)
		}
	}
	if err := findings.Delete(t.Context(), st); !errors.Is(err, audit.ErrConflict) {
		t.Errorf("delete an older version: %v", err)
	}
	if diff := cmp.Diff(theirs, must(findings.Get(t.Context(), st.ID))(t)); diff != "" {
		t.Errorf("something was overwritten (-want +got):\n%s", diff)
	}
}

func testNoNamespace(t *testing.T, c *kubetest.Cluster, _ *store.Store) {
	findings, err := store.New(c.Config(kubetest.Admin), "nowhere", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := aRecord("a.example.com")
	_, err = findings.Create(t.Context(), r)
	want := "create finding " + r.ID + `: HTTP 404: namespaces "nowhere" not found: create the namespace, as the chart does: ` +
		"helm install audit oci://ghcr.io/eventuallytrue/charts/audit -n nowhere --create-namespace"
	if err == nil || err.Error() != want || errors.Is(err, audit.ErrNotStored) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func testOtherLabels(t *testing.T, c *kubetest.Cluster, findings *store.Store) {
	st := must(findings.Create(t.Context(), aRecord("a.example.com")))(t)
	kubectl(t, c, "label", "fnd", st.ID, "-n", home, "ticket=1")
	kubectl(t, c, "annotate", "fnd", st.ID, "-n", home, "note=mine")
	st = must(findings.Get(t.Context(), st.ID))(t)
	st.Owners = []string{"team c"}
	must(findings.Update(t.Context(), st))(t)
	f := must(dynamicFindings(t, c).Get(t.Context(), st.ID, metav1.GetOptions{}))(t)
	team := store.OwnerLabel("team c")
	want := map[string]string{
		"rule": st.Rule, "severity": "high", "state": "Open", "ticket": "1",
		"owner": team, "owner.eventuallytrue.dev/" + team: "true",
	}
	if diff := cmp.Diff(want, f.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if f.GetAnnotations()["note"] != "mine" {
		t.Error("the annotation is gone")
	}
}

func testNoName(t *testing.T, _ *kubetest.Cluster, findings *store.Store) {
	st := must(findings.Create(t.Context(), aRecord("a.example.com")))(t)
	if err := findings.Delete(t.Context(), audit.Stored{Version: st.Version}); err != nil {
		t.Error(err)
	}
	if _, err := findings.Get(t.Context(), ""); !errors.Is(err, audit.ErrNotStored) {
		t.Errorf("get: %v", err)
	}
	must(findings.Get(t.Context(), st.ID))(t)
}

func TestLiveStoreWithoutTheDefinition(t *testing.T) {
	c := control.Cluster(t)
	findings := newStore(t, c.Config(kubetest.Admin), store.Options{})
	_, _, err := findings.Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "serve findings.eventuallytrue.dev: apply its CustomResourceDefinition") {
		t.Errorf("load: %v", err)
	}
	if _, err := findings.Get(t.Context(), "a"); err == nil || errors.Is(err, audit.ErrNotStored) {
		t.Errorf("get: %v", err)
	}
}

func sameRecord(t *testing.T, want, got audit.Record) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func clearFindings(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	kubectl(t, c, "delete", "findings", "--all", "-n", home)
}

// printed is what kubectl prints about findings.
func printed(t *testing.T, c *kubetest.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), append([]string{"get", "fnd", "-n", home}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ended makes a store whose process ends when it writes a status.
func ended(t *testing.T, c *kubetest.Cluster) *store.Store {
	t.Helper()
	p := c.StartProxy(t, func(r *http.Request) kubetest.Answer {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/status") {
			return kubetest.Fail(http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		}
		return nil
	})
	return newStore(t, p.Config(kubetest.Admin), store.Options{})
}

func testBare(t *testing.T, c *kubetest.Cluster, findings *store.Store) {
	r := aRecord("a.example.com")
	if _, err := ended(t, c).Create(t.Context(), r); err == nil {
		t.Fatal("the status was written")
	}
	records, newer, err := findings.Load(t.Context())
	if err != nil || len(records) != 1 || len(newer) != 0 {
		t.Fatalf("load: %v, %v, %v", records, newer, err)
	}
	want := audit.Record{Finding: audit.Finding{ID: r.ID, Rule: r.Rule, Subject: r.Subject}}
	sameRecord(t, want, records[0].Record)
	if !records[0].Incomplete {
		t.Error("it is not bare")
	}
	if _, err := findings.Create(t.Context(), r); !errors.Is(err, audit.ErrStored) {
		t.Errorf("create it again: %v", err)
	}
	st := must(findings.Get(t.Context(), r.ID))(t)
	st.Record = r
	if st = must(findings.Update(t.Context(), st))(t); st.Incomplete {
		t.Error("it is still bare")
	}
	sameRecord(t, r, st.Record)
}

func testTornLabels(t *testing.T, c *kubetest.Cluster, findings *store.Store) {
	st := must(findings.Create(t.Context(), aRecord("a.example.com")))(t)
	next := st
	next.State, next.Reason, next.ResolvedAt = audit.StateResolved, audit.ReasonResolved, monday.Add(time.Hour)
	if _, err := ended(t, c).Update(t.Context(), next); err == nil {
		t.Fatal("the status was written")
	}
	again := must(findings.Get(t.Context(), st.ID))(t)
	sameRecord(t, st.Record, again.Record)
	again.Record = next.Record
	again = must(findings.Update(t.Context(), again))(t)
	sameRecord(t, next.Record, again.Record)
	if got := printed(t, c, "-l", "state=Resolved"); !strings.Contains(got, st.ID) {
		t.Errorf("it is not labelled: %s", got)
	}
}

func testLostAnswer(t *testing.T, c *kubetest.Cluster, findings *store.Store) {
	posts := func(r *http.Request) bool { return r.Method == http.MethodPost }
	p := c.StartProxy(t, kubetest.First(1, posts, kubetest.Cut(0)))
	r := aRecord("a.example.com")
	if _, err := newStore(t, p.Config(kubetest.Admin), store.Options{}).Create(t.Context(), r); !errors.Is(err, audit.ErrStored) {
		t.Fatalf("create: %v", err)
	}
	if !must(findings.Get(t.Context(), r.ID))(t).Incomplete {
		t.Error("it is not bare")
	}
}

func testExpiredList(t *testing.T, c *kubetest.Cluster, findings *store.Store) {
	for i := range 5 {
		must(findings.Create(t.Context(), aRecord(fmt.Sprintf("%d.example.com", i))))(t)
	}
	p := c.StartProxy(t, kubetest.First(1, kubetest.Page("findings", true), kubetest.Expire()))
	records, _, err := newStore(t, p.Config(kubetest.Admin), store.Options{PageSize: 2}).Load(t.Context())
	if err != nil || len(records) != 5 {
		t.Errorf("load: %d records, %v", len(records), err)
	}
}

// A page of findings that is read again is in the list once.
func TestLoadCountsNothingTwice(t *testing.T) {
	finding := func(host string) string {
		return fmt.Sprintf(`{"apiVersion":"eventuallytrue.dev/v1alpha1","kind":"Finding","metadata":{"name":%q,"resourceVersion":"5"},
			"spec":{"rule":"one-owner-per-host","subject":{"kind":"Host","name":%q}},"status":{"state":"Open"}}`, aRecord(host).ID, host)
	}
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		version, next, item := "7", "more", finding("a.example.com")
		if r.URL.Query().Get("continue") != "" {
			next, item = "", finding("b.example.com")
			if tries++; tries <= 2 {
				version = "" // which no list is without
			}
		}
		fmt.Fprintf(w, `{"kind":"FindingList","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`, version, next, item)
	}))
	defer server.Close()
	findings := newStore(t, &rest.Config{Host: server.URL}, store.Options{})
	if all, newer, err := findings.Load(t.Context()); err != nil || len(all) != 2 || len(newer) > 0 || tries != 3 {
		t.Errorf("after %d tries: %d findings, %v, %v", tries, len(all), newer, err)
	}
}

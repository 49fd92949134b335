package store_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// ended makes a store for one who is ended when it writes a status.
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

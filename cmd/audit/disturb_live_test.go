package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
)

// TestDisturbedSweepSaysTheSame lets a sweep in small pages meet what networks
// and busy API servers do, once, and holds its report against the undisturbed
// one.
func TestDisturbedSweepSaysTheSame(t *testing.T) {
	c := control.Cluster(t)
	applyEstate(t, c)
	undisturbed := sweep(t, exitFindings, "--kubeconfig", c.Kubeconfig(kubetest.Admin))
	for _, row := range []struct {
		name    string
		matches func(*http.Request) bool
		answer  kubetest.Answer
	}{
		{"a page expires", kubetest.Page("ingresses", true), kubetest.Expire()},
		{"the server is busy", kubetest.Page("networkpolicies", true), kubetest.TooManyRequests(1)},
		{"the server is busy from the start", kubetest.Page("namespaces", false), kubetest.TooManyRequests(1)},
		{"the first page is cut short", kubetest.Page("deployments", false), kubetest.Cut(300)},
		{"a later page is cut short", kubetest.Page("deployments", true), kubetest.Cut(300)},
	} {
		t.Run(row.name, func(t *testing.T) {
			var disturbed, later atomic.Int32
			once := kubetest.First(1, row.matches, counted(&disturbed, row.answer))
			p := c.StartProxy(t, func(r *http.Request) kubetest.Answer {
				shrinkPages(r)
				if r.URL.Query().Get("continue") != "" {
					later.Add(1)
				}
				return once(r)
			})
			got := sweep(t, exitFindings, "--kubeconfig", p.Kubeconfig(kubetest.Admin))
			if n := disturbed.Load(); n != 1 {
				t.Fatalf("disturbed %d times, want once", n)
			}
			if later.Load() == 0 {
				t.Fatal("everything came on one page")
			}
			compareReports(t, undisturbed, got)
			compareIdentities(t, undisturbed, got)
		})
	}
}

// shrinkPages makes the pages of lists so small that the estate needs several.
func shrinkPages(r *http.Request) {
	query := r.URL.Query()
	if query.Has("limit") {
		query.Set("limit", fmt.Sprint(5))
		r.URL.RawQuery = query.Encode()
	}
}

func counted(n *atomic.Int32, answer kubetest.Answer) kubetest.Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		n.Add(1)
		answer(w, r, next)
	}
}

// compareIdentities compares more than two clusters could have in common: ids,
// messages and the creation of objects.
func compareIdentities(t *testing.T, want, got *report.Report) {
	t.Helper()
	for _, r := range []*report.Report{want, got} {
		for i := range r.Findings {
			r.Findings[i].FirstSeen = r.StartedAt
		}
	}
	if diff := cmp.Diff(want.Findings, got.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Advisories, got.Advisories); diff != "" {
		t.Errorf("advisories (-want +got):\n%s", diff)
	}
}

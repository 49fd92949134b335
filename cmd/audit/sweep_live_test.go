package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// TestForbiddenNetworkPolicies: the effect of policies that cannot be read is unknown,
// neither good nor bad.
func TestForbiddenNetworkPolicies(t *testing.T) {
	c := control.Cluster(t)
	applyEstate(t, c)
	allow(t, c, without(rights(t), snapshot.NetworkPolicies)...)
	r := sweep(t, exitIncomplete, "--kubeconfig", c.Kubeconfig(kubetest.Guest))

	ofDeny := func(rule string) bool { return rule == "default-deny-present" }
	if slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return ofDeny(f.Rule) }) {
		t.Error("default-deny-present has findings")
	}
	if slices.ContainsFunc(r.Advisories, func(a report.Advisory) bool { return ofDeny(a.Rule) }) {
		t.Error("default-deny-present has advisories")
	}
	if len(r.Isolation) > 0 {
		t.Errorf("%d namespaces have a row of isolation", len(r.Isolation))
	}
	if !slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Rule == "one-owner-per-host" }) {
		t.Error("the rule on hosts, which needs no policies, found nothing")
	}

	// The report begins with what is unknown, and why.
	got := execute("--once", "--kubeconfig", c.Kubeconfig(kubetest.Guest))
	head, _, _ := strings.Cut(got.stdout, "SEV  ")
	for _, want := range []string{
		"INCOMPLETE", "forbidden  networkpolicies.networking.k8s.io", `User "guest" cannot list resource "networkpolicies"`,
		"default-deny-present (skipped)",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("the report does not contain %q before the findings:\n%s", want, head)
		}
	}
}

// TestEverythingForbidden: nothing is known, so no output may look like a clean sweep.
func TestEverythingForbidden(t *testing.T) {
	// All kinds are served: a kind that is not served is known to be empty.
	c := control.ClusterWithCRDs(t)
	applyEstate(t, c)
	for _, format := range report.Formats() {
		t.Run(string(format), func(t *testing.T) {
			got := execute("--once", "--kubeconfig", c.Kubeconfig(kubetest.Guest), "-o", string(format))
			checkUnknown(t, got)
			if !strings.Contains(got.stdout, "forbidden") {
				t.Errorf("no kind is reported as forbidden:\n%s", got.stdout)
			}
		})
	}
}

// checkUnknown checks that a sweep that could read nothing says so in every format, and
// that its report cannot be mistaken for a clean one.
func checkUnknown(t *testing.T, got outcome) {
	t.Helper()
	if got.code != exitIncomplete || got.stderr != "" {
		t.Errorf("exit %d, want %d; standard error: %s", got.code, exitIncomplete, got.stderr)
	}
	lower := strings.ToLower(got.stdout)
	for _, word := range []string{"clean", "no findings", "complete: true", `"complete": true`, "status: ran", `"status": "ran"`} {
		if strings.Contains(lower, word) {
			t.Errorf("the report contains %q:\n%s", word, got.stdout)
		}
	}
	if !strings.Contains(lower, "complete") {
		t.Errorf("the report does not say that the sweep is incomplete:\n%s", got.stdout)
	}
}

// TestDisturbedSweepSaysTheSame disturbs a sweep in small pages once, as networks and
// busy API servers do, and compares its report with that of an undisturbed sweep.
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

// compareIdentities compares what only two sweeps of one cluster share: ids, messages
// and the creation times of objects.
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

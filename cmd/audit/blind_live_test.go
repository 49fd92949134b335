package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// TestBlindToNetworkPolicies: what the policies amount to is unknown then, and
// neither wrong nor right.
func TestBlindToNetworkPolicies(t *testing.T) {
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

	// People read first what is not known, and why.
	got := execute("--once", "--kubeconfig", c.Kubeconfig(kubetest.Guest))
	head, _, _ := strings.Cut(got.stdout, "HIGH")
	for _, want := range []string{
		"INCOMPLETE", "forbidden  networkpolicies.networking.k8s.io", `User "guest" cannot list resource "networkpolicies"`,
		"default-deny-present (skipped)",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("nothing says %q before the findings:\n%s", want, head)
		}
	}
}

// TestBlindToEverything: nothing is known, so nothing may sound like all is well.
func TestBlindToEverything(t *testing.T) {
	// With all kinds served: of one that is not it is known that there is none.
	c := control.ClusterWithCRDs(t)
	applyEstate(t, c)
	for _, format := range report.Formats() {
		t.Run(string(format), func(t *testing.T) {
			got := execute("--once", "--kubeconfig", c.Kubeconfig(kubetest.Guest), "-o", string(format))
			checkUnknown(t, got)
			if !strings.Contains(got.stdout, "forbidden") {
				t.Errorf("nothing is called forbidden:\n%s", got.stdout)
			}
		})
	}
}

// checkUnknown holds that a sweep which could read nothing says so, whatever
// the format, and that nothing of it can be taken for a clean one.
func checkUnknown(t *testing.T, got outcome) {
	t.Helper()
	if got.code != exitIncomplete || got.stderr != "" {
		t.Errorf("exit %d, want %d; standard error: %s", got.code, exitIncomplete, got.stderr)
	}
	lower := strings.ToLower(got.stdout)
	for _, word := range []string{"clean", "no findings", "complete: true", `"complete": true`, "status: ran", `"status": "ran"`} {
		if strings.Contains(lower, word) {
			t.Errorf("%q is said:\n%s", word, got.stdout)
		}
	}
	if !strings.Contains(lower, "complete") {
		t.Errorf("nothing says that the sweep is not complete:\n%s", got.stdout)
	}
}

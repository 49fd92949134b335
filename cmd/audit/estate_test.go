package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/notify/report"
)

const estateConfig = moduleRoot + "/testdata/estate.config.yaml"

func TestEstate(t *testing.T) {
	checkEstate(t, sweep(t, exitFindings, "--from", estateDir), false)
}

func TestEstateWithConfig(t *testing.T) {
	r := sweep(t, exitFindings, "--from", estateDir, "--config", estateConfig)
	checkEstate(t, r, true)
	if r.Cluster != "tallow-lane-eu-1" {
		t.Errorf("cluster %q does not have the name in the config", r.Cluster)
	}
}

// checkEstate compares a report with everything that is known about the estate.
func checkEstate(t *testing.T, r *report.Report, withConfig bool) {
	t.Helper()
	if !r.Complete || len(r.Problems) > 0 {
		t.Errorf("complete: %t, problems: %v", r.Complete, r.Problems)
	}
	var wantFindings, wantAdvisories []evaluation
	for _, f := range estateFindings {
		if owners := pick(withConfig, f.withConfig, f.owners); owners != "" {
			wantFindings = append(wantFindings, evaluation{f.rule, f.subject, f.verdict, f.severity, owners, f.objects})
		}
	}
	for _, a := range estateAdvisories {
		owners := pick(withConfig, a.withConfig, a.owners)
		wantAdvisories = append(wantAdvisories, evaluation{Rule: a.rule, Subject: a.subject, Owners: owners, Objects: a.objects})
	}
	if diff := cmp.Diff(wantFindings, findings(r)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantAdvisories, advisories(r)); diff != "" {
		t.Errorf("advisories (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(estateIsolation, isolation(r)); diff != "" {
		t.Errorf("isolation (-want +got):\n%s", diff)
	}
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// estateFindings is what is wrong with the sample estate, taken from the
// comments in its files. Owners are those of a sweep without the estate's
// config, and of one with it; a finding without the latter does not exist then.
var estateFindings = []struct {
	rule, subject, verdict, severity, owners, withConfig string
	objects                                              []string
}{
	{
		"default-deny-present", "Namespace analytics (Egress)", "defeated", "medium", "namespace analytics", "data",
		[]string{"Deployment analytics/notebooks allow-all", "NetworkPolicy analytics/notebooks-anywhere allow-all"},
	},
	{
		"default-deny-present", "Namespace campaigns (Egress)", "missing", "high", "growth", "growth",
		[]string{
			"CronJob campaigns/newsletter no-policy", "Deployment campaigns/landing-pages no-policy",
			"Pod campaigns/load-test no-policy",
		},
	},
	{
		"default-deny-present", "Namespace campaigns (Ingress)", "missing", "high", "growth", "growth",
		[]string{
			"CronJob campaigns/newsletter no-policy", "Deployment campaigns/landing-pages no-policy",
			"Pod campaigns/load-test no-policy",
		},
	},
	{
		"default-deny-present", "Namespace catalog (Egress)", "missing", "high", "catalog", "catalog",
		[]string{"Deployment catalog/catalog no-policy", "StatefulSet catalog/search-index no-policy"},
	},
	{
		"default-deny-present", "Namespace checkout (Ingress)", "missing", "high", "checkout", "checkout",
		[]string{"Deployment checkout/fraud-score not-selected"},
	},
	{
		"default-deny-present", "Namespace identity (Egress)", "missing", "high", "identity", "identity",
		[]string{"CronJob identity/session-sweeper not-selected"},
	},
	{
		"default-deny-present", "Namespace identity (Ingress)", "missing", "high", "identity", "identity",
		[]string{"CronJob identity/session-sweeper not-selected"},
	},
	{
		"default-deny-present", "Namespace tracking (Ingress)", "defeated", "high", "logistics", "logistics",
		[]string{
			"Deployment tracking/carrier-events allow-all", "Deployment tracking/tracker allow-all",
			"NetworkPolicy tracking/tmp-debug allow-all",
		},
	},
	{
		"default-deny-present", "Namespace warehouse (Egress)", "defeated", "low", "logistics", "",
		[]string{
			"Deployment warehouse/labels allow-world", "Deployment warehouse/stock allow-world",
			"NetworkPolicy warehouse/allow-carriers allow-world",
		},
	},
	{
		"one-owner-per-host", "Host * (class nginx)", "contested", "high", "logistics, namespace intranet", "logistics, platform",
		[]string{"Ingress intranet/portal rule", "Ingress tracking/fallback default-backend"},
	},
	{
		"one-owner-per-host", "Host *.preview.example.com", "contested", "high", "catalog, logistics", "catalog, logistics",
		[]string{"Ingress catalog/preview rule", "Ingress tracking/previews rule"},
	},
	{
		"one-owner-per-host", "Host basket.example.com", "contested", "high", "checkout, storefront", "checkout, storefront",
		[]string{"Ingress checkout/basket rule", "Ingress shop-web/basket rule"},
	},
	{
		"one-owner-per-host", "Host catalog.example.com", "contested", "high", "catalog, growth", "catalog, growth",
		[]string{"Ingress campaigns/spring-sale server-alias", "Ingress catalog/catalog rule"},
	},
	{
		"one-owner-per-host", "Host news.example.com", "contested", "high", "content, growth", "content, growth",
		[]string{"Ingress apps/newsroom rule", "Ingress campaigns/newsletter external-dns"},
	},
	{
		"one-owner-per-host", "Host search.example.com", "contested", "high", "catalog, growth", "catalog, growth",
		[]string{"Ingress campaigns/search-landing rule", "Ingress catalog/search rule"},
	},
	{
		"owner-known", "Namespace analytics", "unowned", "low", "namespace analytics", "",
		[]string{"Deployment analytics/notebooks no-owner", "StatefulSet analytics/columns no-owner"},
	},
	{
		"owner-known", "Namespace intranet", "unowned", "low", "namespace intranet", "platform",
		[]string{"Deployment intranet/wiki no-owner", "ReplicationController intranet/portal no-owner"},
	},
	{
		"owner-known", "Namespace payments", "unowned", "low", "namespace payments", "",
		[]string{"Deployment payments/gateway no-owner", "StatefulSet payments/ledger no-owner"},
	},
}

// estateAdvisories are the advisories of the estate, with owners as above.
var estateAdvisories = []struct {
	rule, subject, owners, withConfig string
	objects                           []string
}{
	{
		"default-deny-present", "Namespace monitoring (host network)", "platform", "platform",
		[]string{"DaemonSet monitoring/node-exporter host-network"},
	},
	{
		"one-owner-per-host", "Host grafana.tools.example.org", "identity, platform", "identity, platform",
		[]string{"Ingress identity/tools-gateway rule", "Ingress monitoring/grafana rule"},
	},
	{
		"one-owner-per-host", "Host pay.example.com", "checkout, namespace payments", "checkout, payments",
		[]string{"Ingress checkout/checkout tls-only", "Ingress payments/pay rule", "Ingress payments/pay-internal rule"},
	},
	{
		"one-owner-per-host", "Ingress campaigns/search-landing", "growth", "growth",
		[]string{"Ingress campaigns/search-landing owner-contradiction"},
	},
}

// estateIsolation is the effect of the policies of each namespace: the number of live
// workloads, whether ingress and egress are denied by default, and what is open anyway.
var estateIsolation = []string{
	"analytics 2 present present partial all",
	"apps 2 present present none",
	"campaigns 3 missing missing none",
	"catalog 2 present missing none",
	"checkout 3 missing present none",
	"default 0 present present none",
	"identity 3 missing missing none",
	"ingress-nginx 2 present present none",
	"intranet 2 present present none",
	"kube-node-lease 0 missing missing none exempt",
	"kube-public 0 missing missing none exempt",
	"kube-system 1 missing missing none exempt",
	"monitoring 2 present present none",
	"payments 2 present present none",
	"shop-api 2 present present none",
	"shop-web 2 present present none",
	"tracking 2 present present ingress all",
	"warehouse 2 present present egress world",
}

// remark is a comment in the estate that says what a rule reports about the
// object below it.
type remark struct {
	word, rule string // FAULT, ADVISORY or LOOK-ALIKE
	detail     string // of the subject: Ingress or Egress, where the comment names one
	object     metav1.PartialObjectMetadata
}

var remarkForm = regexp.MustCompile(`(?m)^# (FAULT|ADVISORY|LOOK-ALIKE) \(([a-z-]+)(?:, (Ingress|Egress|Ingress and Egress))?\)`)

// TestEstateCommentsAreTrue compares each remark with a report, so that
// readers of the estate can rely on them.
func TestEstateCommentsAreTrue(t *testing.T) {
	r := sweep(t, exitFindings, "--from", estateDir)
	remarks := readRemarks(t)
	for _, word := range []string{"FAULT", "ADVISORY", "LOOK-ALIKE"} {
		if !slices.ContainsFunc(remarks, func(m remark) bool { return m.word == word }) {
			t.Errorf("no remark of the form %s (RULE)", word)
		}
	}
	for _, m := range remarks {
		list := r.Findings
		if m.word == "ADVISORY" {
			list = nil
			for _, a := range r.Advisories {
				list = append(list, report.Finding{Rule: a.Rule, Subject: a.Subject, Objects: a.Objects})
			}
		}
		if concerned := slices.ContainsFunc(list, m.concerns); concerned == (m.word == "LOOK-ALIKE") {
			t.Errorf("%s (%s, %s) above %s %s/%s is wrong", m.word, m.rule, m.detail,
				m.object.Kind, m.object.Namespace, m.object.Name)
		}
	}
}

// concerns reports whether a finding is about the object of the remark or, for
// rules about namespaces, about the namespace that it is in.
func (m remark) concerns(f report.Finding) bool {
	if f.Rule != m.rule {
		return false
	}
	if f.Subject.Kind == "Namespace" {
		return f.Subject.Name == namespaceOf(m.object) &&
			(m.detail == "" || strings.Contains(m.detail, f.Subject.Detail))
	}
	return slices.ContainsFunc(f.Objects, func(o report.Object) bool {
		return o.Kind == m.object.Kind && o.Namespace == m.object.Namespace && o.Name == m.object.Name
	})
}

func namespaceOf(o metav1.PartialObjectMetadata) string {
	if o.Kind == "Namespace" {
		return o.Name
	}
	return o.Namespace
}

// readRemarks reads the remarks of the estate. One at the head of a file is on
// the first object.
func readRemarks(t *testing.T) []remark {
	t.Helper()
	paths, err := filepath.Glob(estateDir + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []remark
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var above []byte
		for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
			above = append(above, document...)
			var object metav1.PartialObjectMetadata
			if err := yaml.Unmarshal(document, &object); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if object.Name == "" {
				continue
			}
			for _, found := range remarkForm.FindAllSubmatch(above, -1) {
				out = append(out, remark{string(found[1]), string(found[2]), string(found[3]), object})
			}
			above = nil
		}
	}
	return out
}

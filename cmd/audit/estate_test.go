package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
		t.Errorf("cluster %q is not called as the config says", r.Cluster)
	}
}

// checkEstate holds a report against everything that is known of the estate.
func checkEstate(t *testing.T, r *report.Report, withConfig bool) {
	t.Helper()
	if !r.Complete || len(r.Problems) > 0 {
		t.Errorf("complete: %t, problems: %v", r.Complete, r.Problems)
	}
	var wantFindings, wantAdvisories []judgement
	for _, f := range estateFindings {
		if owners := pick(withConfig, f.withConfig, f.owners); owners != "" {
			wantFindings = append(wantFindings, judgement{f.rule, f.subject, f.verdict, f.severity, owners, f.objects})
		}
	}
	for _, a := range estateAdvisories {
		owners := pick(withConfig, a.withConfig, a.owners)
		wantAdvisories = append(wantAdvisories, judgement{Rule: a.rule, Subject: a.subject, Owners: owners, Objects: a.objects})
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

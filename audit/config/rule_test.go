package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestSettings(t *testing.T) {
	both := []snapshot.Direction{snapshot.DirectionIngress, snapshot.DirectionEgress}
	kubernetes := []config.Glob{"kube-system", "kube-public", "kube-node-lease"}
	for _, c := range []struct {
		says, data, rule string
		want             config.Settings
	}{
		{
			"a rule that takes nothing has no defaults", "", "one-owner-per-host",
			config.Settings{Enabled: true, Severity: rules.High},
		},
		{
			"one that takes all has all defaults", "", "default-deny-present",
			config.Settings{Enabled: true, Severity: rules.High, Directions: both, ExemptNamespaces: kubernetes},
		},
		{
			"one that takes some has those", "", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: kubernetes},
		},
		{
			"a rule without anything in it has the defaults", "rules: {owner-known: }", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: kubernetes},
		},
		{
			"the file sets the severity and nothing else", "rules: {owner-known: {severity: high}}", "owner-known",
			config.Settings{Enabled: true, Severity: rules.High, ExemptNamespaces: kubernetes},
		},
		{
			"the file switches a rule off", "rules: {owner-known: {enabled: false}}", "owner-known",
			config.Settings{Severity: rules.Low, ExemptNamespaces: kubernetes},
		},
		{
			"a list takes the place of the default", "rules: {owner-known: {exemptNamespaces: [legacy]}}", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: []config.Glob{"legacy"}},
		},
		{
			"an empty list exempts nothing", "rules: {owner-known: {exemptNamespaces: []}}", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: []config.Glob{}},
		},
		{
			"directions are sorted", "rules: {default-deny-present: {directions: [Egress, Ingress]}}", "default-deny-present",
			config.Settings{Enabled: true, Severity: rules.High, Directions: both, ExemptNamespaces: kubernetes},
		},
		{
			"one direction is one", "rules: {default-deny-present: {directions: [Egress]}}", "default-deny-present",
			config.Settings{Enabled: true, Severity: rules.High, Directions: both[1:], ExemptNamespaces: kubernetes},
		},
	} {
		cfg := parse(t, c.data)
		for _, r := range ruleSet() {
			if r.Name != c.rule {
				continue
			}
			if diff := cmp.Diff(c.want, cfg.Settings(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.says, diff)
			}
		}
	}
}

func TestSettingsExempt(t *testing.T) {
	cfg := parse(t, "rules: {owner-known: {exemptNamespaces: [legacy, 'lab-*']}}")
	s := cfg.Settings(ruleSet()[2])
	for namespace, want := range map[string]bool{"legacy": true, "lab-1": true, "kube-system": false} {
		if got := s.Exempt(namespace); got != want {
			t.Errorf("namespace %s is exempt: got %v, want %v", namespace, got, want)
		}
	}
}

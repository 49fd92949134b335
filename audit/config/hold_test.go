package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/ownership"
)

func TestHowFindingsLive(t *testing.T) {
	const file = `
rules:
  owner-known: {for: 2 sweeps}
  one-owner-per-host: {for: 30m}
findings: {keepResolved: 48h}
limits: {newFindings: 20}
`
	c, err := config.Parse([]byte(file), "audit.yaml", catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[*rules.Rule]config.Hold{
		ownership.Rule(): {Sweeps: 2},
		hosts.Rule():     {For: 30 * time.Minute},
		isolation.Rule(): {},
	} {
		if got := c.Settings(rule).Hold; got != want {
			t.Errorf("%s is held for %+v, want %+v", rule.Name, got, want)
		}
	}
	if time.Duration(c.Findings.KeepResolved) != 48*time.Hour || c.Limits.NewFindings != 20 {
		t.Errorf("findings %+v, limits %+v", c.Findings, c.Limits)
	}
}

func TestMistakesInHowFindingsLive(t *testing.T) {
	for text, want := range map[string]string{
		"rules: {owner-known: {for: twice}}":     `rules.owner-known.for: "twice" is neither a number of sweeps`,
		"rules: {owner-known: {for: -1 sweeps}}": "is neither a number of sweeps",
		"limits: {newFindings: 0}":               "limits.newFindings: \"0\" is no whole number above zero",
		"limits: {newFindings: many}":            "limits.newFindings",
		"findings: {keepResolved: 30d}":          "findings.keepResolved: \"30d\" is counted in days: write 720h",
	} {
		_, err := config.Parse([]byte(text), "audit.yaml", catalog.All())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

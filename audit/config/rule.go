package config

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule is what the file says of one rule. What it does not say is nil or zero
// and left to the defaults; see Settings.
type Rule struct {
	Enabled  *bool    `yaml:"enabled"`
	Severity Severity `yaml:"severity"`
	// For holds a new violation back for a while: see Hold.
	For Hold `yaml:"for"`
	// Directions and ExemptNamespaces may stand only with a rule that takes
	// them. A list in the file replaces the default and adds nothing to it.
	Directions       []Direction `yaml:"directions"`
	ExemptNamespaces []Glob      `yaml:"exemptNamespaces"` // empty but not nil: none
	// ReportOnly tells nobody: findings are stored and counted. It is how a new
	// rule is rolled out.
	ReportOnly bool `yaml:"reportOnly"`
}

// Settings are what a rule is run with: what the file says over the defaults.
type Settings struct {
	Enabled  bool           // default true
	Severity rules.Severity // default the rule's own
	Hold     Hold           // default none: opened at once
	// Directions are sorted, and empty for a rule that does not take them.
	// Default: both.
	Directions []snapshot.Direction
	// ExemptNamespaces are empty for a rule that does not take them. Default:
	// the namespaces of Kubernetes itself.
	ExemptNamespaces []Glob
	ReportOnly       bool // nobody is told; default false
}

// Settings returns what a rule is run with. Which defaults a rule has depends
// on the settings it takes, never on its name.
func (c *Config) Settings(r *rules.Rule) Settings {
	said := c.Rules[r.Name]
	s := Settings{Enabled: said.Enabled == nil || *said.Enabled, Severity: r.Severity, Hold: said.For, ReportOnly: said.ReportOnly}
	if said.Severity != 0 {
		s.Severity = rules.Severity(said.Severity)
	}
	if slices.Contains(r.Settings, rules.SettingDirections) {
		for _, d := range snapshot.Directions() {
			if said.Directions == nil || slices.Contains(said.Directions, Direction(d)) {
				s.Directions = append(s.Directions, d)
			}
		}
	}
	if slices.Contains(r.Settings, rules.SettingExemptNamespaces) {
		s.ExemptNamespaces = slices.Clone(said.ExemptNamespaces)
		if said.ExemptNamespaces == nil {
			s.ExemptNamespaces = []Glob{"kube-system", "kube-public", "kube-node-lease"}
		}
	}
	return s
}

// Exempt reports whether a namespace is exempt from the rule.
func (s Settings) Exempt(namespace string) bool { return matchAny(s.ExemptNamespaces, namespace) }

// Severity is a rules.Severity as the file spells it. Zero: not given.
type Severity rules.Severity

// UnmarshalText reads low, medium or high.
func (s *Severity) UnmarshalText(text []byte) error {
	// The error of rules.Severity quotes what it was given, whatever it is.
	if (*rules.Severity)(s).UnmarshalText(text) != nil {
		return fmt.Errorf("%s is no severity: write low, medium or high", shown(string(text)))
	}
	return nil
}

// Direction is a snapshot.Direction as the file spells it.
type Direction snapshot.Direction

// UnmarshalText reads Ingress or Egress.
func (d *Direction) UnmarshalText(text []byte) error {
	for _, known := range snapshot.Directions() {
		if known.String() == string(text) {
			*d = Direction(known)
			return nil
		}
	}
	return fmt.Errorf("%s is no direction: write Ingress or Egress", shown(string(text)))
}

// String returns what UnmarshalText reads.
func (d Direction) String() string { return snapshot.Direction(d).String() }

package config

import (
	"fmt"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule is what the file sets for one rule. What it does not set is nil or zero and
// has its default; see Settings.
type Rule struct {
	Enabled  *bool    `yaml:"enabled"`
	Severity Severity `yaml:"severity"`
	// For delays the opening of new findings: see Hold.
	For Hold `yaml:"for"`
	// Directions and ExemptNamespaces are only allowed for rules that accept them. A
	// list in the file replaces the default.
	Directions       []Direction `yaml:"directions"`
	ExemptNamespaces []Glob      `yaml:"exemptNamespaces"` // empty but not nil: none
	// ReportOnly stores and counts findings, but notifies no one. It is meant for
	// rolling out a rule.
	ReportOnly *bool `yaml:"reportOnly"`
}

// Settings are the settings that a rule runs with: those of the file, and for the rest
// the defaults, which the profile may change.
type Settings struct {
	Enabled  bool           // default true
	Severity rules.Severity // default the rule's own
	Hold     Hold           // default none: opened at once
	// Directions are sorted, and empty for a rule that does not accept them.
	// Default: both.
	Directions []snapshot.Direction
	// ExemptNamespaces are empty for a rule that does not accept them. Default: the
	// namespaces of Kubernetes itself.
	ExemptNamespaces []Glob
	ReportOnly       bool // default false; see Config.ReportOnly
}

// Exempt reports whether a namespace is exempt from the rule.
func (s Settings) Exempt(namespace string) bool { return anyMatch(s.ExemptNamespaces, namespace) }

// Severity is a rules.Severity in the config. Zero: not set.
type Severity rules.Severity

// UnmarshalText reads low, medium or high.
func (s *Severity) UnmarshalText(text []byte) error {
	// The error of rules.Severity quotes its input.
	if (*rules.Severity)(s).UnmarshalText(text) != nil {
		return fmt.Errorf("%s is not a valid severity: use low, medium or high", shown(string(text)))
	}
	return nil
}

// Direction is a snapshot.Direction in the config.
type Direction snapshot.Direction

// UnmarshalText reads Ingress or Egress.
func (d *Direction) UnmarshalText(text []byte) error {
	for _, known := range snapshot.Directions() {
		if known.String() == string(text) {
			*d = Direction(known)
			return nil
		}
	}
	return fmt.Errorf("%s is not a valid direction: use Ingress or Egress", shown(string(text)))
}

// String returns what UnmarshalText reads.
func (d Direction) String() string { return snapshot.Direction(d).String() }

// Exception hides violations of one rule until it expires.
type Exception struct {
	Rule    string  `yaml:"rule"`
	Subject Subject `yaml:"subject"`
	Reason  string  `yaml:"reason"`
	Expires Expiry  `yaml:"expires"`
	// At is the position of the exception in the file.
	At Position `yaml:"-"`
}

// Subject is a pattern for the subjects of violations. An empty field matches any
// value.
type Subject struct {
	Kind string `yaml:"kind"`
	// Namespace matches the namespace of the subject, which is its name if its kind
	// is Namespace.
	Namespace Glob   `yaml:"namespace"`
	Name      string `yaml:"name"`   // exact
	Detail    string `yaml:"detail"` // exact
}

// Matches reports whether the exception applies to a violation of the rule with that
// subject: all fields that are set must match. It ignores the expiry. An exception
// with an empty subject matches nothing.
func (e *Exception) Matches(rule string, s rules.Subject) bool {
	want := e.Subject
	if e.Rule != rule || want == (Subject{}) {
		return false
	}
	namespace := s.Namespace
	if s.Kind == rules.SubjectNamespace {
		namespace = s.Name
	}
	return (want.Kind == "" || want.Kind == s.Kind) &&
		(want.Namespace == "" || want.Namespace.Match(namespace)) &&
		(want.Name == "" || want.Name == s.Name) &&
		(want.Detail == "" || want.Detail == s.Detail)
}

// ExpiredError says that an exception has expired.
type ExpiredError struct {
	Exception *Exception
}

// Error returns one line with file, line and path.
func (e *ExpiredError) Error() string {
	at := e.Exception.At
	at.Path = join(at.Path, "expires")
	return fmt.Sprintf("%s: expired (%s): extend or remove it", at, e.Exception.Expires)
}

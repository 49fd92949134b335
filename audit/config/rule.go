package config

import (
	"fmt"

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

// Exempt reports whether a namespace is exempt from the rule.
func (s Settings) Exempt(namespace string) bool { return matchAny(s.ExemptNamespaces, namespace) }

// Severity is a rules.Severity as the file spells it. Zero: not given.
type Severity rules.Severity

// UnmarshalText reads low, medium or high.
func (s *Severity) UnmarshalText(text []byte) error {
	// The error of rules.Severity quotes what it was given, whatever it is.
	if (*rules.Severity)(s).UnmarshalText(text) != nil {
		return fmt.Errorf("%s is not a valid severity: use low, medium or high", shown(string(text)))
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
	return fmt.Errorf("%s is not a valid direction: use Ingress or Egress", shown(string(text)))
}

// String returns what UnmarshalText reads.
func (d Direction) String() string { return snapshot.Direction(d).String() }

// Exception hides violations of one rule for a while.
type Exception struct {
	Rule    string  `yaml:"rule"`
	Subject Subject `yaml:"subject"`
	Reason  string  `yaml:"reason"`
	Expires Expiry  `yaml:"expires"`
	// At is where the exception stands in the file.
	At Position `yaml:"-"`
}

// Subject is a pattern for the subjects of violations. A field that is empty
// says nothing.
type Subject struct {
	Kind string `yaml:"kind"`
	// Namespace matches the namespace of the subject, which for a subject of
	// kind Namespace is its name.
	Namespace Glob   `yaml:"namespace"`
	Name      string `yaml:"name"`   // exact
	Detail    string `yaml:"detail"` // exact
}

// Matches reports whether the exception is for a violation of the rule with
// that subject: all fields that are given must match. It does not ask whether
// the exception has expired. An exception whose subject is empty matches
// nothing.
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

// Error returns one line that names file, line and path.
func (e *ExpiredError) Error() string {
	at := e.Exception.At
	at.Path = join(at.Path, "expires")
	return fmt.Sprintf("%s: expired (%s): extend or remove it", at, e.Exception.Expires)
}

package config

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Profile is a set of defaults for the settings of rules. What the file sets for a rule
// takes precedence.
type Profile string

// The profiles. Observe is for a first run on an ordinary estate: it asks for less and
// notifies no one. Standard is the default.
const (
	Observe  Profile = "observe"
	Standard Profile = "standard"
	Strict   Profile = "strict"
)

// Profiles returns all profiles, from the least demanding to the most.
func Profiles() []Profile { return []Profile{Observe, Standard, Strict} }

// UnmarshalText reads observe, standard or strict.
func (p *Profile) UnmarshalText(text []byte) error {
	if !slices.Contains(Profiles(), Profile(text)) {
		return fmt.Errorf("%s is not a valid profile: use observe, standard or strict", shown(string(text)))
	}
	*p = Profile(text)
	return nil
}

// defaults are what a profile changes of the settings of a rule. Findings about a host
// keep their severity: a stolen host is urgent whatever is asked of an estate. What a
// profile asks of Namespaces is what an estate grows into.
func (p Profile) defaults(r *rules.Rule, s *Settings) {
	switch p {
	case Observe:
		if r.Subject == rules.SubjectNamespace {
			s.Severity = s.Severity.Lower(1)
		}
		s.Directions = slices.DeleteFunc(s.Directions, func(d snapshot.Direction) bool { return d != snapshot.DirectionIngress })
	case Strict:
		if r.Subject == rules.SubjectNamespace {
			s.Severity = min(s.Severity+1, rules.High)
		}
	}
}

// ReportOnly reports whether no one is notified of the findings of a rule.
func (c *Config) ReportOnly(rule string) bool {
	if said := c.Rules[rule].ReportOnly; said != nil {
		return *said
	}
	return c.Profile == Observe
}

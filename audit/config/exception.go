package config

import (
	"fmt"
	"time"

	"github.com/eventuallytrue/audit/rules"
)

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

// Expired returns the exceptions that hide nothing any more, in the order of
// the file. Each is an error, for a caller that refuses them.
func (c *Config) Expired(now time.Time) []*ExpiredError {
	var expired []*ExpiredError
	for i := range c.Exceptions {
		if e := &c.Exceptions[i]; e.Expires.Passed(now) {
			expired = append(expired, &ExpiredError{Exception: e})
		}
	}
	return expired
}

// ExpiredError says that an exception has expired.
type ExpiredError struct {
	Exception *Exception
}

// Error returns one line that names file, line and path.
func (e *ExpiredError) Error() string {
	at := e.Exception.At
	at.Path = join(at.Path, "expires")
	return fmt.Sprintf("%s: expired (%s): give it a later end or take it out", at, e.Exception.Expires)
}

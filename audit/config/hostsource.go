package config

import (
	"errors"
	"fmt"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// HostSource is what the file says of one kind whose objects claim hosts. If
// there is a ready-made source for the kind, it stands for what is left out.
type HostSource struct {
	Group    string         `yaml:"group"` // empty: the core group
	Version  string         `yaml:"version"`
	Resource string         `yaml:"resource"` // the plural, in lower case
	Kind     string         `yaml:"kind"`     // as the objects spell it
	Hosts    HostExpression `yaml:"hosts"`
	// Wildcard says how many labels a wildcard of the kind covers; many by
	// default.
	Wildcard Wildcard `yaml:"wildcard"`
	Enabled  *bool    `yaml:"enabled"`
}

// off reports whether the source is switched off.
func (h *HostSource) off() bool { return h.Enabled != nil && !*h.Enabled }

// of returns the kind.
func (h *HostSource) resourceKind() snapshot.Kind { return snapshot.KindOf(h.Group, h.Resource) }

// over returns a source with what the file says in place of what a ready-made one
// does, which is the zero value where there is none.
func (h *HostSource) override(s hostsource.Source) hostsource.Source {
	if s.Hosts.IsZero() {
		s.Deep = true
	}
	s.Kind, s.BuiltIn = h.resourceKind(), false
	if h.Kind != "" {
		s.Object = h.Kind
	}
	if h.Version != "" {
		s.Versions = []string{h.Version}
	}
	if !h.Hosts.compiled.IsZero() {
		s.Hosts, s.Fields = h.Hosts.compiled, nil
	}
	if h.Wildcard != "" {
		s.Deep = h.Wildcard == ManyLabels
	}
	return s
}

// HostExpression is an expression in CEL that yields the hosts of an object. The
// zero value is none.
type HostExpression struct {
	compiled hostsource.Expression
}

// UnmarshalText compiles the expression.
func (e *HostExpression) UnmarshalText(text []byte) error {
	compiled, err := hostsource.Compile(string(text))
	if err != nil {
		// What is wrong with it may be that it is something else.
		return errors.New(secrets.ReplaceAllString(err.Error(), "<secret>"))
	}
	e.compiled = compiled
	return nil
}

// String returns the expression as the file spells it.
func (e HostExpression) String() string { return e.compiled.String() }

// Equal reports whether two expressions are spelled alike.
func (e HostExpression) Equal(o HostExpression) bool { return e.compiled.Equal(o.compiled) }

// Wildcard says how many labels of a host a wildcard covers.
type Wildcard string

// What a wildcard can cover.
const (
	OneLabel   Wildcard = "one"
	ManyLabels Wildcard = "many" // one or more
)

// UnmarshalText reads one or many.
func (w *Wildcard) UnmarshalText(text []byte) error {
	switch s := Wildcard(text); s {
	case OneLabel, ManyLabels:
		*w = s
		return nil
	}
	return fmt.Errorf("%s is not a valid wildcard: use one or many", shown(string(text)))
}

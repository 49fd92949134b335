package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Hosts says how hosts are read from objects of any kind.
type Hosts struct {
	// ExternalDNSPrefixes are the prefixes below which external-dns reads its
	// annotations, its --annotation-prefix; by default those of all its versions.
	ExternalDNSPrefixes []AnnotationPrefix `yaml:"externalDNSPrefixes"`
	// TrustedSolvers are the namespaces whose solvers of ACME challenges claim no host
	// although nothing else there does.
	TrustedSolvers []Glob `yaml:"trustedSolvers"`
}

// TrustsSolvers reports whether the solvers of ACME challenges in a namespace are trusted.
func (h *Hosts) TrustsSolvers(namespace string) bool {
	return slices.ContainsFunc(h.TrustedSolvers, func(g Glob) bool { return g.Match(namespace) })
}

// Prefixes returns the prefixes of the annotations of external-dns.
func (h *Hosts) Prefixes() []string {
	out := make([]string, len(h.ExternalDNSPrefixes))
	for i, p := range h.ExternalDNSPrefixes {
		out[i] = string(p)
	}
	return out
}

func externalDNSPrefixes() []AnnotationPrefix {
	var out []AnnotationPrefix
	for _, p := range hostsource.ExternalDNSPrefixes() {
		out = append(out, AnnotationPrefix(p))
	}
	return out
}

// AnnotationPrefix is the part of the keys of annotations up to the slash.
type AnnotationPrefix string

// UnmarshalText rejects what is not a lower-case domain and a slash.
func (p *AnnotationPrefix) UnmarshalText(text []byte) error {
	domain, slash := strings.CutSuffix(string(text), "/")
	if !slash || len(validation.IsDNS1123Subdomain(domain)) > 0 {
		return fmt.Errorf("%s is not a valid prefix of annotations: use a lower-case domain and a slash, such as external-dns.kubernetes.io/", shown(string(text)))
	}
	*p = AnnotationPrefix(text)
	return nil
}

// HostSource is what the file sets for one kind whose objects claim hosts. What it
// leaves out comes from the built-in source for the kind, if there is one.
type HostSource struct {
	Group    string         `yaml:"group"` // empty: the core group
	Version  string         `yaml:"version"`
	Resource string         `yaml:"resource"` // the lower-case plural
	Kind     string         `yaml:"kind"`     // as in its objects
	Hosts    HostExpression `yaml:"hosts"`
	// Wildcard is how many labels a wildcard covers; many by default.
	Wildcard Wildcard `yaml:"wildcard"`
	Enabled  *bool    `yaml:"enabled"`
}

// off reports whether the source is disabled.
func (h *HostSource) off() bool { return h.Enabled != nil && !*h.Enabled }

// resourceKind returns the kind by group and resource.
func (h *HostSource) resourceKind() snapshot.Kind { return snapshot.KindOf(h.Group, h.Resource) }

// override returns a built-in source, or the zero value if there is none, with the
// settings of the file.
func (h *HostSource) override(s hostsource.Source) hostsource.Source {
	if s.Hosts.IsZero() {
		s.Deep = true
	}
	s.Kind, s.BuiltIn, s.Unread = h.resourceKind(), false, false
	if h.Kind != "" {
		s.Object = h.Kind
	}
	if h.Version != "" {
		s.Versions = []string{h.Version}
	}
	if !h.Hosts.compiled.IsZero() {
		// The expression alone says what an object claims.
		s.Hosts, s.Fields, s.Proxies, s.Copies = h.Hosts.compiled, nil, hostsource.NoProxies, false
	}
	if h.Wildcard != "" {
		s.Deep = h.Wildcard == ManyLabels
	}
	return s
}

// HostExpression is a CEL expression that returns the hosts of an object. The zero
// value is none.
type HostExpression struct {
	compiled hostsource.Expression
}

// UnmarshalText compiles the expression.
func (e *HostExpression) UnmarshalText(text []byte) error {
	compiled, err := hostsource.Compile(string(text))
	if err != nil {
		// The text may be a secret that was pasted into the wrong field.
		return errors.New(secrets.ReplaceAllString(err.Error(), "<secret>"))
	}
	e.compiled = compiled
	return nil
}

// String returns the expression as in the file.
func (e HostExpression) String() string { return e.compiled.String() }

// Equal reports whether two expressions have the same text.
func (e HostExpression) Equal(o HostExpression) bool { return e.compiled.Equal(o.compiled) }

// Wildcard is how many labels of a host a wildcard covers.
type Wildcard string

// The values of Wildcard.
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

package snapshot

import (
	"net/netip"
	"slices"
)

// AddressSet is the fact of an object that gives a set of addresses a name or
// labels, by which policies refer to it: a NetworkSet or GlobalNetworkSet of Calico,
// or a CiliumCIDRGroup.
type AddressSet struct {
	Meta
	Labels Labels
	CIDRs  []netip.Prefix
	Unread bool // which addresses it has could not be read
}

// SetPeer selects sets of addresses of one engine as the peers of a rule.
type SetPeer struct {
	Engine SetEngine
	// Name is the name of one set. A rule that names a set that does not exist may
	// match anything: manifests may leave the set out.
	Name string
	// Labels select the sets if there is no Name. Each selects some, over the labels
	// that SetLabels returns.
	Labels []Selector
	// Within, if not nil, are the only addresses of the sets that count.
	Within []CIDR
	// Except are addresses of the sets that do not count.
	Except []netip.Prefix
}

// SetEngine is the engine that a set of addresses belongs to.
type SetEngine uint8

// The engines with sets of addresses.
const (
	CalicoSets SetEngine = iota
	CiliumSets
)

// Kinds are the kinds of sets that the engine has, sorted.
func (e SetEngine) Kinds() []Kind {
	if e == CiliumSets {
		return []Kind{CiliumCIDRGroups}
	}
	return calicoSetKinds()
}

// Has reports whether a set belongs to the engine.
func (e SetEngine) Has(s *AddressSet) bool {
	return (s.Group == CiliumCIDRGroups.Group()) == (e == CiliumSets)
}

// The labels that Calico gives to a set of a namespace: the name of the namespace,
// and the labels of the Namespace with a prefix
// (libcalico-go/lib/backend/syncersv1/updateprocessors/networksetprocessor.go).
const (
	CalicoNamespaceLabel  = "projectcalico.org/namespace"
	CalicoNamespacePrefix = "pcns."
)

// SetLabels returns the labels by which a set is selected. namespace are the labels
// of the set's Namespace.
func SetLabels(s *AddressSet, namespace Labels) Labels {
	if s.Namespace == "" {
		return s.Labels
	}
	all := map[string]string{CalicoNamespacePrefix + "projectcalico.org/name": s.Namespace}
	for key, value := range namespace.With(NamespaceNameLabel, s.Namespace).All() {
		all[CalicoNamespacePrefix+key] = value
	}
	// Its own labels win over those that it inherits, but not over its namespace.
	for key, value := range s.Labels.All() {
		all[key] = value
	}
	all[CalicoNamespaceLabel] = s.Namespace
	return NewLabels(all)
}

// servedSets drops the stored form of the sets that were read as they are served
// too, as dropDuplicates does for policies.
func servedSets(sets []AddressSet) []AddressSet {
	type name struct{ kind, namespace, name string }
	served := map[name]bool{}
	for i := range sets {
		if s := &sets[i]; s.Group == CalicoNetworkSets.Group() {
			served[name{s.Kind, s.Namespace, s.Name}] = true
		}
	}
	return slices.DeleteFunc(sets, func(s AddressSet) bool {
		return s.Group == StoredCalicoNetworkSets.Group() && served[name{s.Kind, s.Namespace, s.Name}]
	})
}

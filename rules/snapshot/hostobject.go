package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// HostSources stands for all kinds whose objects claim hosts as the config
// describes. Which kinds these are differs from cluster to cluster, so no rule can
// name them; the source says so with Builder.Expand.
const HostSources Kind = "hostsources.eventuallytrue.dev"

// HostObject is the fact of an object of one of the kinds behind HostSources: what
// it claims, as written.
type HostObject struct {
	Meta
	// Hosts are the hosts it claims, sorted. None of them is empty.
	Hosts []HostPattern
	// Expressions are the regular expressions by which it claims hosts.
	Expressions []HostExpression
	// Invalid are the first few claimed values that are not hosts and that nothing
	// serves as one, such as the placeholder of a template.
	Invalid []string
	// Unread are the first few values that may claim hosts but can't be read.
	Unread []string
	// Bindings are the proxies that serve it, where the source of its kind knows them.
	Bindings []Binding
	// Solver is true if it has the marks of a solver of ACME challenges. Whoever writes
	// the object can write them.
	Solver bool
	// CopyOf is the object whose claim it repeats by its marks, nil if there is none.
	// Whoever writes the object can write them.
	CopyOf *Ref
	// Err is why it is not known what the object claims, empty if it could be
	// read.
	Err string
}

// HostPattern is a host that an object claims.
type HostPattern struct {
	Host string
	// Deep is true for a wildcard that covers any number of labels instead of one.
	Deep bool
	// Rank is the lowest priority of a router of Traefik for the host, 0 if it is not
	// known.
	Rank int
}

// Binding is a proxy that serves a HostObject: a Gateway of Istio, or an entry point of
// Traefik.
type Binding struct {
	Gateway string // namespace/name of the Gateway; empty for an entry point
	// EntryPoint is the name of the entry point, empty for every one of them.
	EntryPoint string
	// Class is the class of the Traefik that has the entry point, empty for the default.
	Class string
	// Lanes are what the object claims there of the traffic for every host. If there
	// are none, it claims its own hosts only.
	Lanes []Lane
}

// Lane is the part of a proxy's traffic that a claim to every host takes.
type Lane struct {
	Port int32 // 0 for every port
	// Prefix is what the traffic has in common, such as the address that it is sent
	// to or the beginning of its path; empty for all traffic. Of two lanes whose
	// prefixes differ, one is within the other if it begins with the other's prefix,
	// or else they share no traffic.
	Prefix string
	// Rank is the priority of the router of Traefik that takes it, 0 if it is not known.
	Rank int
}

// RankOfTCP is the priority of a router for TCP that goes before all routers of HTTP.
const RankOfTCP = 1 << 60

// EndOfLane ends a prefix that is an exact value: no other value begins with it.
const EndOfLane = "\x00"

// IstioGateways are the Gateways of Istio, which say whose VirtualServices may bind to
// them.
const IstioGateways Kind = "gateways.networking.istio.io"

// IstioGateway is the fact of a Gateway of Istio.
type IstioGateway struct {
	Meta
	// Hosts are those of all its servers, as they are written: a host, or
	// namespace/host for VirtualServices of one namespace, with "." for the
	// Gateway's own and "*" for all.
	Hosts []string
}

// UnreadHosts is the fact that there are, or may be, objects that carry hosts of a kind
// that was not read, because no source for it is on.
type UnreadHosts struct {
	Kind   Kind
	Object string // as in its objects, such as "Host"
	// Namespace is where they are, empty if that is not known: then there is no Count.
	Namespace string
	Count     int
	// Setting is what turns the source of the kind on, as in the config.
	Setting string
	// Unknown says why it is not known whether there are any, empty if there are.
	Unknown string
}

// joinUnreadHosts sorts facts by kind and namespace, and adds up those of one namespace.
func joinUnreadHosts(facts []UnreadHosts) []UnreadHosts {
	slices.SortStableFunc(facts, func(a, b UnreadHosts) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Namespace, b.Namespace))
	})
	var out []UnreadHosts
	for _, f := range facts {
		if last := len(out) - 1; last >= 0 && out[last].Kind == f.Kind && out[last].Namespace == f.Namespace {
			out[last].Count += f.Count
			continue
		}
		out = append(out, f)
	}
	return out
}

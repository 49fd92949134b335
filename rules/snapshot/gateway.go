package snapshot

// GatewayGroup is the API group of the Gateway API.
const GatewayGroup = "gateway.networking.k8s.io"

// Gateway is the fact of a Gateway.
type Gateway struct {
	Meta
	Class     string
	Listeners []Listener // in the order of the object
	// AllowedListeners says which namespaces may add listeners by a ListenerSet.
	AllowedListeners AllowedNamespaces
	// Default is true if the Gateway accepts routes that ask for any default
	// Gateway.
	Default bool
}

// ListenerSet is the fact of a ListenerSet, or an XListenerSet, its earlier name.
// It adds its listeners to those of a Gateway.
type ListenerSet struct {
	Meta
	Parent    Ref // a Gateway, if it is a valid one
	Listeners []Listener
}

// Listener is a port on which a Gateway listens for hosts.
type Listener struct {
	Name     string
	Hostname string // as it is written; empty for every host
	Port     int32
	Protocol string
	// AllowedRoutes says from which namespaces routes may attach.
	AllowedRoutes AllowedNamespaces
	// Kinds are the kinds of routes that may attach. If empty, the protocol
	// decides.
	Kinds []GroupKind
}

// GroupKind names a kind as objects spell it.
type GroupKind struct {
	Group, Kind string
}

// NamespacesFrom says from which namespaces objects may attach to another one.
type NamespacesFrom uint8

// The values of NamespacesFrom.
const (
	NamespacesNone NamespacesFrom = iota
	NamespacesSame                // the namespace of the object that they attach to
	NamespacesSelector
	NamespacesAll
)

// AllowedNamespaces says from which namespaces objects may attach to another one.
type AllowedNamespaces struct {
	From NamespacesFrom
	// Selector applies to the labels of the Namespace, with NamespacesSelector
	// only.
	Selector Selector
}

// Route is the fact of an HTTPRoute, a GRPCRoute or a TLSRoute: what it claims and
// where, as written.
type Route struct {
	Meta
	Parents []ParentRef
	// Hostnames are the requested hosts. If empty, they are those of the listeners
	// that the route attaches to.
	Hostnames []string
	// Default is true if the route also attaches to every default Gateway.
	Default bool
	// SolverLabel, ChallengeOwner and ChallengePaths are the three marks of
	// cert-manager's HTTP01 solver: its label, its owner reference to a
	// Challenge, and that only paths of ACME challenges are routed.
	SolverLabel, ChallengeOwner, ChallengePaths bool
	// Published is what a host source reads from the route beside its hostnames, such
	// as those that external-dns publishes; nil if there is no such source.
	Published *HostObject
}

// ParentRef is an object that a route asks to attach to.
type ParentRef struct {
	Ref            // with everything filled in that the route left out
	Section string // the listener of that name; empty for all of them
	Port    int32  // the listeners on that port; 0 for all of them
}

// The fields of the Gateway API that claim a host.
const (
	FromHostname   HostSource = "hostname"          // spec.hostnames of a route
	FromNarrowed   HostSource = "narrowed-hostname" // a wildcard there, of which the listener takes less
	FromParent     HostSource = "parent-hostname"   // hostname of the listener of a route that has none
	FromNoHostname HostSource = "no-hostname"       // neither the route nor its listener has one
	FromListener   HostSource = "listener"          // spec.listeners[].hostname of a ListenerSet
)

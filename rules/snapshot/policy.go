package snapshot

import "net/netip"

// Direction is the side of a pod that a policy governs.
type Direction uint8

// The two directions. They index the arrays of a Policy.
const (
	Inward  Direction = iota // Ingress
	Outward                  // Egress
)

// Directions are both directions, in the order in which they are judged and
// printed.
func Directions() [2]Direction { return [2]Direction{Inward, Outward} }

// String returns the direction as NetworkPolicy spells it in policyTypes.
func (d Direction) String() string {
	if d == Outward {
		return "Egress"
	}
	return "Ingress"
}

// Policy is the fact of a policy for pod traffic.
type Policy struct {
	Meta
	Subject  Selector   // the pods of its namespace that it selects
	Isolates [2]bool    // whether a selected pod is isolated, by Direction
	Allows   [2][]Allow // what is let through to or from it all the same
	Invalid  string     // why it cannot be in force; empty for a valid one
}

// Allow lets the given peers through on the given ports.
type Allow struct {
	Peers Peers
	Ports Ports
}

// Peers are the other ends of a connection. They are united: whoever is in one
// of the parts is in.
type Peers struct {
	Everyone bool // no peer is named: pods, nodes, the world
	Pods     []PodPeer
	Blocks   []Block
}

// PodPeer selects pods by their labels and those of their Namespace.
type PodPeer struct {
	OwnNamespace bool     // only pods of the policy's namespace
	Namespaces   Selector // of any other; empty for all
	Pods         Selector
}

// Block is a range of addresses less some ranges inside it.
type Block struct {
	Prefix netip.Prefix
	Except []netip.Prefix
}

// Ports are the ports of an Allow. They are united.
type Ports struct {
	All    bool // no port is named: every protocol and port
	Ranges []PortRange
	// Named counts ports given by name. What number a name stands for differs
	// from pod to pod, so they are never taken for a whole range.
	Named int
}

// Protocol is a transport protocol as Kubernetes spells it.
type Protocol string

// The protocols of a NetworkPolicy port.
const (
	TCP  Protocol = "TCP"
	UDP  Protocol = "UDP"
	SCTP Protocol = "SCTP"
)

// LastPort is the highest port there is.
const LastPort = 65535

// PortRange is an inclusive range of ports of one protocol.
type PortRange struct {
	Protocol    Protocol
	First, Last int32
}

package snapshot

// Ports are the ports of a rule: the union of the fields.
type Ports struct {
	All    bool // no port is named: every protocol and port
	Ranges []PortRange
	// Named counts ports given by name. The number behind a name differs from pod
	// to pod, so names never count as a whole range.
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

package ingest

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Unsupported returns the fact that there may be policies of a kind that the program
// cannot evaluate in a namespace, or in all if it is empty. object is the kind as its
// objects spell it.
func Unsupported(kind snapshot.Kind, object, namespace string) snapshot.Unsupported {
	u := snapshot.Unsupported{Kind: kind, Namespace: namespace, Directions: [2]bool{true, true}}
	for _, k := range knownKinds() {
		if k.group == kind.Group() && k.object == object {
			u.Directions, u.Restricts = k.directions, k.restricts
		}
	}
	return u
}

// UnsupportedObject returns the fact of a policy that the program cannot evaluate, given
// as JSON. One whose metadata can't be read may apply to any namespace.
func UnsupportedObject(kind snapshot.Kind, object string, data []byte) snapshot.Unsupported {
	return Unsupported(kind, object, textOf(membersOf(membersOf(data)["metadata"])["namespace"]))
}

// knownKind is an unsupported kind of which it is known what its objects cannot do.
type knownKind struct {
	group, object string
	directions    [2]bool
	restricts     bool // see snapshot.Unsupported
}

// knownKinds returns the kinds that can affect less than everything. Without a line here a
// kind may deny or allow anything in both directions.
func knownKinds() []knownKind {
	egress := [2]bool{snapshot.DirectionEgress: true}
	return []knownKind{
		// "Traffic from a pod to an IP address outside the cluster will be checked against
		// each EgressFirewallRule ... in order. If no rule matches ... the traffic will be
		// allowed" (OpenShift's reference of the kind). An ACL of its own, beside those of
		// NetworkPolicies, which must allow the traffic as well (OVN-Kubernetes,
		// docs/features/network-security-controls/egress-firewall.md).
		{group: "k8s.ovn.org", object: "EgressFirewall", directions: egress, restricts: true},
		// The same of OpenShift SDN: it "limits the external hosts that some or all pods can
		// access from within the cluster" (OpenShift's "Configuring an egress firewall").
		{group: "network.openshift.io", object: "EgressNetworkPolicy", directions: egress, restricts: true},
		// It allows egress to names, in addition to what NetworkPolicies allow, and isolates
		// the pods it selects in that direction ("Control Pod egress traffic using FQDN
		// network policies", GKE). The older project of the same kind and group writes
		// NetworkPolicies, which are read.
		{group: "networking.gke.io", object: "FQDNNetworkPolicy", directions: egress},
	}
}

// UnsupportedPolicy reports whether a kind is a policy for the traffic of pods that
// the program cannot evaluate: it is then unknown what such policies deny or allow. A
// new kind is recognized by the end of its name, because ignoring a policy makes an
// open namespace look evaluated.
func UnsupportedPolicy(group, kind string) bool {
	if group == "k8s.ovn.org" && kind == "EgressFirewall" || group == "crd.nsx.vmware.com" && kind == "SecurityPolicy" {
		return true
	}
	if !strings.HasSuffix(kind, "NetworkPolicy") {
		return false
	}
	supported := func(c Custom) bool { return c.Kind.Group() == group && c.Object == kind }
	if slices.ContainsFunc(Customs(), supported) {
		return false
	}
	switch group {
	case "networking.k8s.io", "extensions":
		return false
	// Staged policies are never enforced.
	case "projectcalico.org", "crd.projectcalico.org":
		return !strings.HasPrefix(kind, "Staged")
	// Policies for networks beside the one that every pod is in.
	case "k8s.cni.cncf.io":
		return false
	// Constraints on policies, named after what they require.
	case "constraints.gatekeeper.sh", "templates.gatekeeper.sh", "kyverno.io", "policies.kyverno.io":
		return false
	}
	return true
}

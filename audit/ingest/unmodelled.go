package ingest

import "strings"

// UnmodelledPolicy reports whether a kind is a policy for the traffic of pods
// that nothing here understands: where there are such, what they deny or let
// through is unknown. A new kind is taken for one by the end of its name, since
// a policy that is passed over in silence makes an open namespace look judged.
func UnmodelledPolicy(group, kind string) bool {
	if group == "k8s.ovn.org" && kind == "EgressFirewall" || group == "crd.nsx.vmware.com" && kind == "SecurityPolicy" {
		return true
	}
	if !strings.HasSuffix(kind, "NetworkPolicy") {
		return false
	}
	for _, c := range Customs() {
		if c.Kind.Group() == group && c.Object == kind {
			return false
		}
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
	// Rules about policies that are called after what they ask for.
	case "constraints.gatekeeper.sh", "templates.gatekeeper.sh", "kyverno.io", "policies.kyverno.io":
		return false
	}
	return true
}

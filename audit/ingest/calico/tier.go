// Package calico turns the policies and tiers of Calico into facts. What it says of
// their meaning is from Calico's API (api/pkg/apis/projectcalico/v3) and from what
// becomes of it: libcalico-go/lib/backend/syncersv1/updateprocessors turns it into the
// rules that felix/calc puts in order.
package calico

import (
	"math"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// orderOf returns the place of a policy in its tier, or of a tier. Without
// one it comes last.
func orderOf(order *float64) float64 {
	if order == nil {
		return math.Inf(1)
	}
	return *order
}

// placeInTier says where a policy stands that names a tier.
//
// The tiers that Calico makes by itself may not be changed: it refuses another
// order than theirs, and another default action than Pass for those where the
// policies of the network policy API go. So their objects tell nothing new, and
// what is in them stands in one tier with the policies of Kubernetes. A tier
// without an object comes last (felix/calc/policy_sorter.go, TierLess).
func placeInTier(p *snapshot.Policy, tier string) {
	switch tier {
	case "", "default":
		p.Tier = snapshot.TierDefault
	case "adminnetworkpolicy", "kube-admin":
		p.Tier, p.Isolates = snapshot.TierAdmin, [2]bool{}
	case "baselineadminnetworkpolicy", "kube-baseline":
		p.Tier, p.Isolates = snapshot.TierBaseline, [2]bool{}
	default:
		p.Tier, p.TierName = math.Inf(1), tier
	}
}

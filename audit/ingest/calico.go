package ingest

import (
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// calicoKinds are the kinds of Calico, as its API server or its definitions serve
// them and as they are stored, which is spelled alike. What is said here of their
// meaning is from Calico's API (api/pkg/apis/projectcalico/v3) and from what
// becomes of it: libcalico-go/lib/backend/syncersv1/updateprocessors turns it
// into the rules that felix/calc puts in order.
//
// The Staged kinds are none of them: they are never enforced.
func calicoKinds() []Custom {
	return []Custom{
		calicoPolicyKind(snapshot.CalicoNetworkPolicies, "NetworkPolicy", "v3", true),
		calicoPolicyKind(snapshot.CalicoGlobalNetworkPolicies, "GlobalNetworkPolicy", "v3", false),
		calicoTierKind(snapshot.CalicoTiers, "v3"),
		calicoPolicyKind(snapshot.StoredCalicoNetworkPolicies, "NetworkPolicy", "v1", true),
		calicoPolicyKind(snapshot.StoredCalicoGlobalPolicies, "GlobalNetworkPolicy", "v1", false),
		calicoTierKind(snapshot.StoredCalicoTiers, "v1"),
	}
}

func calicoPolicyKind(kind snapshot.Kind, object, version string, namespaced bool) Custom {
	return Custom{
		Kind: kind, Object: object, Versions: []string{version}, Namespaced: namespaced,
		take: func(in *Ingester, data []byte, f *snapshot.Facts) error {
			var o calicoPolicy
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
				return err
			}
			m := in.meta(kind.Group(), object, &o.Metadata)
			if !namespaced {
				m.Namespace = ""
			}
			if kind.Group() == snapshot.StoredCalicoNetworkPolicies.Group() {
				o.Spec.respell()
			}
			f.Policies = append(f.Policies, o.facts(m)...)
			return nil
		},
	}
}

func calicoTierKind(kind snapshot.Kind, version string) Custom {
	return Custom{
		Kind: kind, Object: "Tier", Versions: []string{version},
		take: func(in *Ingester, data []byte, f *snapshot.Facts) error {
			var o struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
				Spec     struct {
					Order         *float64 `json:"order"`
					DefaultAction string   `json:"defaultAction"`
				} `json:"spec"`
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
				return err
			}
			f.Tiers = append(f.Tiers, snapshot.Tier{
				Meta:   in.meta(kind.Group(), "Tier", &o.Metadata),
				Order:  calicoOrder(o.Spec.Order),
				Passes: o.Spec.DefaultAction == "Pass", // Deny where nothing is said
			})
			return nil
		},
	}
}

// calicoOrder returns the place of a policy in its tier, or of a tier. Without
// one it comes last.
func calicoOrder(order *float64) float64 {
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

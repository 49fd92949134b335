package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// dropTwins drops policies and tiers of Calico that are there twice.
//
// Calico serves its kinds in one group and stores them in another. Where both can
// be read each object is in both; manifests may hold either form. Of one object the
// form that is served is kept: what is stored may be a remainder, since newer
// releases store in the group that they serve. Older releases list Kubernetes' own
// policies among those of Calico, too.
func dropTwins(f *Facts) {
	there := map[twin]bool{}
	for i := range f.Policies {
		there[f.Policies[i].identity()] = true
	}
	for i := range f.Tiers {
		there[f.Tiers[i].identity()] = true
	}
	served := func(t twin) bool {
		t.group = CalicoNetworkPolicies.Group()
		return there[t]
	}
	f.Policies = slices.DeleteFunc(f.Policies, func(p Policy) bool {
		t := p.identity()
		switch t.group {
		case StoredCalicoNetworkPolicies.Group():
			return served(t)
		case CalicoNetworkPolicies.Group():
			name, ok := strings.CutPrefix(p.Name, translatedPrefix)
			return ok && there[twin{NetworkPolicies.Group(), p.Kind, p.Namespace, name}]
		}
		return false
	})
	f.Tiers = slices.DeleteFunc(f.Tiers, func(t Tier) bool {
		return t.Group == StoredCalicoTiers.Group() && served(t.identity())
	})
}

// translatedPrefix stands before the name of a policy of Kubernetes that Calico
// lists among its own.
const translatedPrefix = "knp.default."

// twin identifies an object by the name that it has in every form.
type twin struct{ group, kind, namespace, name string }

// identity of a policy of Calico has the name with that of its tier before it, which
// stands there where it is stored and may be left out where it is served: "deny" and
// "default.deny" are one policy (libcalico-go/lib/names/policy.go).
func (p *Policy) identity() twin {
	name := p.Name
	if p.Group == CalicoNetworkPolicies.Group() || p.Group == StoredCalicoNetworkPolicies.Group() {
		tier := cmp.Or(p.TierName, "default") + "."
		name = tier + strings.TrimPrefix(name, tier)
	}
	return twin{p.Group, p.Kind, p.Namespace, name}
}

func (t *Tier) identity() twin { return twin{t.Group, t.Kind, "", t.Name} }

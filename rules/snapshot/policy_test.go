package snapshot_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// frozen returns the policies of a snapshot, each as its group and name and what
// became of it.
func frozen(t *testing.T, facts snapshot.Facts) []snapshot.Policy {
	t.Helper()
	var b snapshot.Builder
	b.Add(facts)
	var out []snapshot.Policy
	for p := range b.Freeze().View(snapshot.PolicyKinds()...).Policies() {
		out = append(out, *p)
	}
	return out
}

const (
	served = "projectcalico.org"
	stored = "crd.projectcalico.org"
)

func calicoPolicy(group, kind, namespace, name, tier string) snapshot.Policy {
	return snapshot.Policy{
		Meta: snapshot.Meta{Group: group, Kind: kind, Namespace: namespace, Name: name},
		Tier: math.Inf(1), TierName: tier, Isolates: [2]bool{true, true},
	}
}

func TestFreezeKeepsOneFormOfAPolicy(t *testing.T) {
	const local, global = "NetworkPolicy", "GlobalNetworkPolicy"
	for _, c := range []struct {
		name     string
		policies []snapshot.Policy
		want     []string
	}{
		{"served and stored are one", []snapshot.Policy{
			calicoPolicy(stored, local, "a", "default.p", ""), calicoPolicy(served, local, "a", "p", ""),
		}, []string{"projectcalico.org NetworkPolicy a/p"}},
		{"served with the name of the default tier", []snapshot.Policy{
			calicoPolicy(served, global, "", "default.p", ""), calicoPolicy(stored, global, "", "default.p", ""),
		}, []string{"projectcalico.org GlobalNetworkPolicy default.p"}},
		{"in a tier of its own", []snapshot.Policy{
			calicoPolicy(served, global, "", "security.p", "security"), calicoPolicy(stored, global, "", "security.p", "security"),
		}, []string{"projectcalico.org GlobalNetworkPolicy security.p"}},
		{"every part of a stored one goes", []snapshot.Policy{
			{Meta: snapshot.Meta{Group: stored, Kind: global, Name: "default.p"}},
			{Meta: snapshot.Meta{Group: stored, Kind: global, Name: "default.p", Part: 1}},
			calicoPolicy(served, global, "", "p", ""),
		}, []string{"projectcalico.org GlobalNetworkPolicy p"}},
		{
			"only stored ones stay",
			[]snapshot.Policy{calicoPolicy(stored, local, "a", "default.p", "")},
			[]string{"crd.projectcalico.org NetworkPolicy a/default.p"},
		},
		{"another name, namespace, kind or tier is another policy", []snapshot.Policy{
			calicoPolicy(served, local, "a", "p", ""), calicoPolicy(stored, local, "a", "default.q", ""),
			calicoPolicy(stored, local, "b", "default.p", ""), calicoPolicy(stored, global, "", "default.p", ""),
			calicoPolicy(stored, local, "a", "security.p", "security"),
		}, []string{
			"crd.projectcalico.org GlobalNetworkPolicy default.p", "crd.projectcalico.org NetworkPolicy a/default.q",
			"crd.projectcalico.org NetworkPolicy a/security.p", "crd.projectcalico.org NetworkPolicy b/default.p",
			"projectcalico.org NetworkPolicy a/p",
		}},
		{"Kubernetes' own policy of that name is another", []snapshot.Policy{
			calicoPolicy("networking.k8s.io", local, "a", "default.p", ""), calicoPolicy(served, local, "a", "p", ""),
		}, []string{"networking.k8s.io NetworkPolicy a/default.p", "projectcalico.org NetworkPolicy a/p"}},
		{"Kubernetes' own policy listed among Calico's is one", []snapshot.Policy{
			calicoPolicy("networking.k8s.io", local, "a", "p", ""), calicoPolicy(served, local, "a", "knp.default.p", ""),
		}, []string{"networking.k8s.io NetworkPolicy a/p"}},
		{"Kubernetes' own policy read from Calico alone stays", []snapshot.Policy{
			calicoPolicy("networking.k8s.io", local, "b", "p", ""), calicoPolicy(served, local, "a", "knp.default.p", ""),
		}, []string{"networking.k8s.io NetworkPolicy b/p", "projectcalico.org NetworkPolicy a/knp.default.p"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 {
				var got []string
				for _, p := range frozen(t, snapshot.Facts{Policies: slices.Clone(c.policies)}) {
					got = append(got, p.Group+" "+p.Ref().String())
				}
				slices.Sort(got)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("policies (-want +got):\n%s", diff)
				}
				slices.Reverse(c.policies)
			}
		})
	}
}

func TestFreezePlacesPoliciesInTheirTiers(t *testing.T) {
	tier := func(group, name string, order float64, passes bool) snapshot.Tier {
		return snapshot.Tier{Meta: snapshot.Meta{Group: group, Kind: "Tier", Name: name}, Order: order, Passes: passes}
	}
	for _, c := range []struct {
		name     string
		tiers    []snapshot.Tier
		order    float64
		isolates bool
	}{
		{"a tier without an object stays last", nil, math.Inf(1), true},
		{"the tier of another name is none", []snapshot.Tier{tier(served, "other", 5, true)}, math.Inf(1), true},
		{"a tier that denies", []snapshot.Tier{tier(served, "security", 5, false)}, 5, true},
		{"a tier that passes", []snapshot.Tier{tier(served, "security", 5, true)}, 5, false},
		{"a tier that is only stored", []snapshot.Tier{tier(stored, "security", 5, true)}, 5, false},
		{"the served form of a tier counts", []snapshot.Tier{tier(stored, "security", 9, false), tier(served, "security", 5, true)}, 5, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := frozen(t, snapshot.Facts{
				Policies: []snapshot.Policy{calicoPolicy(served, "GlobalNetworkPolicy", "", "security.p", "security")},
				Tiers:    c.tiers,
			})[0]
			if p.Tier != c.order || p.Isolates != [2]bool{c.isolates, c.isolates} {
				t.Errorf("order %v, isolates %v", p.Tier, p.Isolates)
			}
		})
	}
}

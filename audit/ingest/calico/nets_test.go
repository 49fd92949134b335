package calico_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// describeSets returns the sets that peers select, and those whose addresses they exclude.
func describeSets(p snapshot.Peers) []string {
	var out []string
	for _, s := range p.Sets {
		for _, by := range s.Labels {
			out = append(out, strings.TrimSpace("sets ["+describeSelector(by)+"]"+describeWithin(s.Within)))
		}
	}
	for _, by := range p.NotSets {
		out = append(out, "not sets ["+describeSelector(by)+"]")
	}
	return out
}

func describeWithin(blocks []snapshot.CIDR) string {
	if blocks == nil {
		return ""
	}
	return fmt.Sprint(" within ", blocks)
}

func TestRuleOfSets(t *testing.T) {
	for _, c := range []struct {
		name, rule    string
		global, local []string
	}{
		{"all is not limited", "selector: all()", []string{"sets []"}, []string{"sets [projectcalico.org/namespace In team-a]"}},
		{"no selector means no set", "nets: [10.0.0.0/8]", nil, nil},
		{
			"labels are those of a set", "selector: a == 'b'",
			[]string{"sets [a In b]"},
			[]string{"sets [a In b & projectcalico.org/namespace In team-a]"},
		},
		{
			"global sets", "{selector: has(a), namespaceSelector: global()}",
			[]string{"sets [a Exists & projectcalico.org/namespace DoesNotExist]"},
			[]string{"sets [a Exists & projectcalico.org/namespace DoesNotExist]"},
		},
		{
			"sets of all namespaces", "namespaceSelector: all()",
			[]string{"sets [projectcalico.org/namespace Exists]"},
			[]string{"sets [projectcalico.org/namespace Exists]"},
		},
		{
			"sets of some namespaces", "namespaceSelector: projectcalico.org/name == 'b' || env == 'prod'",
			[]string{"sets [pcns.projectcalico.org/name In b]", "sets [pcns.env In prod]"},
			[]string{"sets [pcns.projectcalico.org/name In b]", "sets [pcns.env In prod]"},
		},
		{
			"no set has an account, unless it says so", "serviceAccounts: {names: [x], selector: role == 'y'}",
			[]string{"sets [pcsa.role In y & projectcalico.org/serviceaccount In x]"},
			[]string{"sets [pcsa.role In y & projectcalico.org/namespace In team-a & projectcalico.org/serviceaccount In x]"},
		},
		{
			"addresses of sets in some ranges", "{selector: has(a), nets: [10.0.0.0/8]}",
			[]string{"sets [a Exists] within [{10.0.0.0/8 []}]"},
			[]string{"sets [a Exists & projectcalico.org/namespace In team-a] within [{10.0.0.0/8 []}]"},
		},
		{
			"sets are excluded by address", "{selector: all(), notSelector: a == 'b'}",
			[]string{"sets []", "not sets [a In b]"},
			[]string{"sets [projectcalico.org/namespace In team-a]", "not sets [a In b]"},
		},
		{
			"a negative selector alone", "notSelector: has(a)",
			[]string{"not sets [a Exists]"},
			[]string{"sets [projectcalico.org/namespace In team-a]", "not sets [a Exists]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			entity := c.rule
			if !strings.HasPrefix(entity, "{") {
				entity = "{" + entity + "}"
			}
			spec := "types: [Egress]\negress: [{action: Allow, destination: " + entity + "}]"
			for name, got := range map[string][]snapshot.Policy{"global": globalPolicy(t, spec), "local": localPolicy(t, spec)} {
				want := c.global
				if name == "local" {
					want = c.local
				}
				if diff := cmp.Diff(want, describeSets(got[0].Rules[snapshot.DirectionEgress][0].Peers)); diff != "" {
					t.Errorf("sets of a %s policy (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestNetworkSets(t *testing.T) {
	prefixes := func(list ...string) []netip.Prefix {
		var out []netip.Prefix
		for _, s := range list {
			out = append(out, netip.MustParsePrefix(s))
		}
		return out
	}
	for kind, namespace := range map[snapshot.Kind]string{
		snapshot.CalicoNetworkSets: "team-a", snapshot.StoredCalicoNetworkSets: "team-a",
		snapshot.CalicoGlobalNetworkSets: "", snapshot.StoredCalicoGlobalNetworkSets: "",
	} {
		got := takeCalico(t, kind, `
metadata: {name: s, namespace: team-a, labels: {role: b}}
spec: {nets: [10.1.2.3/8, 192.0.2.1, "2001:db8::/32", nonsense]}
`).AddressSets
		if len(got) != 1 {
			t.Fatalf("%s: got %d sets", kind, len(got))
		}
		want := prefixes("10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32")
		if s := got[0]; !slices.Equal(s.CIDRs, want) || s.Namespace != namespace || s.Resource() != kind || s.Labels.Len() != 1 {
			t.Errorf("%s: %+v", kind, s)
		}
	}
}

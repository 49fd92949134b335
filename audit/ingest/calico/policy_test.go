package calico_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestPolicyWithEveryField(t *testing.T) {
	got := takeCalico(t, snapshot.CalicoNetworkPolicies, `
metadata:
  namespace: team-a
  name: security.p
  uid: 1111-2222
  creationTimestamp: "2027-01-15T12:00:00Z"
spec:
  tier: security
  order: 12.5
  selector: app == 'web'
  serviceAccountSelector: all()
  types: [Egress]
  performanceHints: [AssumeNeededOnEveryNode]
  egress:
  - action: Deny
    metadata: {annotations: {why: because}}
    destination: {nets: [10.0.0.1]}
`)
	web := snapshot.Selector{{Key: "app", Op: snapshot.In, Values: []string{"web"}}}
	want := snapshot.Facts{Policies: []snapshot.Policy{{
		Meta: snapshot.Meta{
			Group: "projectcalico.org", Kind: "NetworkPolicy", Namespace: "team-a", Name: "security.p",
			Created: time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC),
		},
		Tier: math.Inf(1), TierName: "security", Order: 12.5,
		Subject:  snapshot.Subject{{OwnNamespace: true, Pods: web}},
		Isolates: [2]bool{snapshot.DirectionEgress: true},
	}}}
	if diff := cmp.Diff([]string{"selects pods [app In web] here", "isolates Egress", "Egress deny 10.0.0.1/32 on every port"}, describe(got.Policies)); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	got.Policies[0].Rules = [2][]snapshot.Rule{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestTypes(t *testing.T) {
	in, out := "ingress: [{action: Allow}]\n", "egress: [{action: Allow}]\n"
	for _, c := range []struct {
		name, spec string
		isolates   [2]bool
		rules      [2]int
	}{
		{"no rules isolate ingress", "selector: all()", [2]bool{true, false}, [2]int{}},
		{"ingress rules isolate ingress", in, [2]bool{true, false}, [2]int{1, 0}},
		{"egress rules alone isolate egress", out, [2]bool{false, true}, [2]int{0, 1}},
		{"rules of both isolate both", in + out, [2]bool{true, true}, [2]int{1, 1}},
		{"empty lists of rules are none", "ingress: []\negress: []", [2]bool{true, false}, [2]int{}},
		{"an empty list of types is none", "types: []\n" + out, [2]bool{false, true}, [2]int{0, 1}},
		{"both types", "types: [Egress, Ingress]", [2]bool{true, true}, [2]int{}},
		{"rules of a type that is not named have no effect", "types: [Egress]\n" + in + out, [2]bool{false, true}, [2]int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := globalPolicy(t, c.spec)[0]
			if p.Isolates != c.isolates || len(p.Rules[0]) != c.rules[0] || len(p.Rules[1]) != c.rules[1] || p.Invalid != "" {
				t.Errorf("isolates %v with %d and %d rules %s", p.Isolates, len(p.Rules[0]), len(p.Rules[1]), p.Invalid)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	last := math.Inf(1)
	for _, c := range []struct {
		name, spec  string
		tier, order float64
		tierName    string
		isolates    bool
	}{
		{"no tier and no order", "{}", snapshot.TierDefault, last, "", true},
		{"the default tier by name", "{tier: default, order: 1000}", snapshot.TierDefault, snapshot.OrderNetworkPolicy, "", true},
		{"order zero is an order", "{order: 0}", snapshot.TierDefault, 0, "", true},
		{"an order below zero", "{order: -1.5}", snapshot.TierDefault, -1.5, "", true},
		{"a tier that an object describes", "{tier: security, order: 1}", last, 1, "security", true},
		{"the tier of AdminNetworkPolicies passes", "{tier: adminnetworkpolicy}", snapshot.TierAdmin, last, "", false},
		{"the tier of admins passes", "{tier: kube-admin}", snapshot.TierAdmin, last, "", false},
		{"the tier of BaselineAdminNetworkPolicies passes", "{tier: baselineadminnetworkpolicy}", snapshot.TierBaseline, last, "", false},
		{"the tier of the baseline passes", "{tier: kube-baseline}", snapshot.TierBaseline, last, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := globalPolicy(t, c.spec)[0]
			if p.Tier != c.tier || p.Order != c.order || p.TierName != c.tierName || p.Isolates[snapshot.DirectionIngress] != c.isolates {
				t.Errorf("tier %v %q, order %v, isolates %v", p.Tier, p.TierName, p.Order, p.Isolates)
			}
		})
	}
}

func TestSubject(t *testing.T) {
	for _, c := range []struct{ name, spec, want string }{
		{"no selector selects everything", "{}", "pods anywhere"},
		{"an empty selector selects everything", "selector: ''", "pods anywhere"},
		{"all selects everything", "selector: all()", "pods anywhere"},
		{"alternatives are parts", "selector: app == 'a' || has(b)", "pods [app In a] anywhere, pods [b Exists] anywhere"},
		{"a selector of namespaces", "namespaceSelector: tier in {'b', 'a'}", "pods in [tier In a|b]"},
		{
			"all namespaces but some", "namespaceSelector: has(projectcalico.org/name) && projectcalico.org/name not in {\"kube-system\"}",
			"pods in [kubernetes.io/metadata.name NotIn kube-system]",
		},
		{
			"both selectors", "selector: app == 'a'\nnamespaceSelector: projectcalico.org/name starts with 'team-'",
			"pods [app In a] in [kubernetes.io/metadata.name HasPrefix team-]",
		},
		{"every namespace", "selector: has(a)\nnamespaceSelector: all()", "pods [a Exists] anywhere"},
		{
			"alternatives of both multiply", "selector: has(a) || has(b)\nnamespaceSelector: has(c) || has(d)",
			"pods [a Exists] in [c Exists], pods [a Exists] in [d Exists], pods [b Exists] in [c Exists], pods [b Exists] in [d Exists]",
		},
		{"a namespace in the selector of pods", "selector: projectcalico.org/namespace == 'a'", "pods in [kubernetes.io/metadata.name In a]"},
		{"hosts are no pods", "selector: has(host) && !has(projectcalico.org/namespace)", ""},
		{"every service account", "serviceAccountSelector: all()", "pods anywhere"},
		{"service accounts by label", "serviceAccountSelector: a == 'b'", "pods [service account label a In b] anywhere"},
		{"a service account by name", "serviceAccountSelector: projectcalico.org/name == 'b'", "pods [service account In b] anywhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			policies := globalPolicy(t, c.spec)
			if len(policies) != 1 {
				t.Fatalf("%d policies", len(policies))
			}
			var got []string
			for _, s := range policies[0].Subject {
				got = append(got, describePods(s))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" || policies[0].Invalid != "" {
				t.Errorf("subject (-want +got):\n%s%s", diff, policies[0].Invalid)
			}
		})
	}
}

func TestSubjectOfNamespace(t *testing.T) {
	for _, c := range []struct{ name, spec, want string }{
		{"no selector selects its namespace", "{}", "selects pods here"},
		{"a selector stays in its namespace", "selector: has(a)", "selects pods [a Exists] here"},
		{"a namespaceSelector is none of its fields", "namespaceSelector: has(a)", "selects pods here"},
		{"a condition on its own namespace", "selector: pcns.tier == 'gold'", "selects pods in [kubernetes.io/metadata.name In team-a & tier In gold]"},
		{
			"another namespace", "selector: projectcalico.org/namespace == 'team-b'",
			"selects pods in [kubernetes.io/metadata.name In team-a & kubernetes.io/metadata.name In team-b]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{c.want, "isolates Ingress"}, describe(localPolicy(t, c.spec))); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoliciesForHosts(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       int
	}{
		{"before connection tracking", "{doNotTrack: true, applyOnForward: true}", 0},
		{"before the destination is changed", "{preDNAT: true, applyOnForward: true}", 0},
		{"for forwarded traffic as for pods", "{applyOnForward: true}", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := globalPolicy(t, c.spec); len(got) != c.want {
				t.Errorf("%d policies, want %d", len(got), c.want)
			}
		})
	}
}

func TestPolicyInvalid(t *testing.T) {
	for _, c := range []struct{ name, spec, want string }{
		{"a selector", "selector: app = web", `selector: position 5: "= web" found where an operator is expected`},
		{"a selector of namespaces", "namespaceSelector: a in b", `namespaceSelector: position 6: "b" found where { is expected`},
		{"a selector of service accounts", "serviceAccountSelector: (", "serviceAccountSelector: position 2: the selector ends where a label is expected"},
		{"a misplaced global", "namespaceSelector: global()", "global() is allowed only in the namespaceSelector of a rule"},
		{"a type", "types: [ingress]", `types: unknown type "ingress"`},
		{"an action", "ingress: [{action: allow}]", `ingress rule 1: unknown action "allow"`},
		{"a rule of a type that is not named", "types: [Ingress]\negress: [{action: Allow}, {}]", `egress rule 2: unknown action ""`},
		{
			"a net", "egress: [{action: Allow, destination: {nets: [10.0.0.0/33]}}]",
			`egress rule 1: destination: nets: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range`,
		},
		{
			"a selector of the peer", "ingress: [{action: Allow, source: {selector: a}}]",
			"ingress rule 1: source: selector: position 2: the selector ends where an operator is expected",
		},
		{
			"a selector of the own side", "ingress: [{action: Allow, destination: {notSelector: a}}]",
			"ingress rule 1: destination: notSelector: position 2: the selector ends where an operator is expected",
		},
		{
			"a misplaced global in a rule", "ingress: [{action: Allow, source: {selector: global()}}]",
			"ingress rule 1: source: global() is allowed only in the namespaceSelector of a rule",
		},
		{"a protocol", "ingress: [{action: Allow, protocol: HTTP}]", `ingress rule 1: protocol: unknown protocol "HTTP"`},
		{
			"ports without a protocol", "ingress: [{action: Allow, destination: {ports: [80]}}]",
			"ingress rule 1: ports need the protocol TCP, UDP or SCTP",
		},
		{
			"ports of ICMP", "ingress: [{action: Allow, protocol: ICMP, source: {notPorts: [80]}}]",
			"ingress rule 1: ports need the protocol TCP, UDP or SCTP",
		},
		{
			"a range of ports", "ingress: [{action: Allow, protocol: TCP, destination: {ports: ['100:1']}}]",
			`ingress rule 1: destination: "100:1" is not a port`,
		},
		{"a version of IP", "ingress: [{action: Log, ipVersion: 5}]", "ingress rule 1: ipVersion: 5 is neither 4 nor 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			policies := globalPolicy(t, c.spec)
			if len(policies) != 1 || len(policies[0].Subject) == 0 || len(policies[0].Rules[0])+len(policies[0].Rules[1]) > 0 {
				t.Fatalf("policies: %+v", policies)
			}
			if diff := cmp.Diff(c.want, policies[0].Invalid); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTier(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       snapshot.Tier
	}{
		{"nothing said", "{}", snapshot.Tier{Order: math.Inf(1)}},
		{"an order", "{order: 100.5}", snapshot.Tier{Order: 100.5}},
		{"it denies", "{order: 1, defaultAction: Deny}", snapshot.Tier{Order: 1}},
		{"it passes", "{order: 1, defaultAction: Pass}", snapshot.Tier{Order: 1, Passes: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, kind := range []snapshot.Kind{snapshot.CalicoTiers, snapshot.StoredCalicoTiers} {
				c.want.Meta = snapshot.Meta{Group: kind.Group(), Kind: "Tier", Name: "security"}
				got := takeCalico(t, kind, "metadata: {name: security}\nspec: "+c.spec)
				if diff := cmp.Diff(snapshot.Facts{Tiers: []snapshot.Tier{c.want}}, got); diff != "" {
					t.Errorf("facts (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestStorage(t *testing.T) {
	got := takeCalico(t, snapshot.StoredCalicoGlobalPolicies, `
metadata:
  name: default.p
  annotations: {projectcalico.org/metadata: '{"uid":"3333"}'}
spec: {selector: has(a), types: [ingress], ingress: [{action: log}, {action: deny}]}
`).Policies
	if m := got[0].Meta; m.Group != "crd.projectcalico.org" || m.Kind != "GlobalNetworkPolicy" || m.Name != "default.p" || m.Namespace != "" {
		t.Errorf("metadata: %+v", m)
	}
	want := []string{"selects pods [a Exists] anywhere", "isolates Ingress", "Ingress deny everyone on every port"}
	if diff := cmp.Diff(want, describe(got)); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

// Staged policies are never enforced: they are neither ingested nor a reason to doubt the
// verdict.
func TestStagedPoliciesAreNone(t *testing.T) {
	for _, group := range []string{snapshot.CalicoNetworkPolicies.Group(), snapshot.StoredCalicoNetworkPolicies.Group()} {
		for _, kind := range []string{"StagedNetworkPolicy", "StagedGlobalNetworkPolicy", "StagedKubernetesNetworkPolicy"} {
			for _, c := range ingest.Customs() {
				if c.Object == kind {
					t.Errorf("%s of %s is taken in", kind, group)
				}
			}
			if ingest.UnsupportedPolicy(group, kind) {
				t.Errorf("%s of %s counts as a policy that is not understood", kind, group)
			}
		}
	}
}

// takeCalico ingests an object of a kind of Calico, written in YAML.
func takeCalico(t *testing.T, kind snapshot.Kind, manifest string) snapshot.Facts {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	all := ingest.Customs()
	i := slices.IndexFunc(all, func(c ingest.Custom) bool { return c.Kind == kind })
	if i < 0 {
		t.Fatalf("no custom kind %s", kind)
	}
	var facts snapshot.Facts
	if err := all[i].Take(ingest.New(nil), data, &facts); err != nil {
		t.Fatal(err)
	}
	return facts
}

// globalPolicy ingests a GlobalNetworkPolicy with this spec.
func globalPolicy(t *testing.T, spec string) []snapshot.Policy {
	t.Helper()
	return takeCalico(t, snapshot.CalicoGlobalNetworkPolicies, "metadata: {name: p}\nspec:\n"+indent(spec)).Policies
}

// localPolicy ingests a NetworkPolicy of team-a with this spec.
func localPolicy(t *testing.T, spec string) []snapshot.Policy {
	t.Helper()
	return takeCalico(t, snapshot.CalicoNetworkPolicies, "metadata: {name: p, namespace: team-a}\nspec:\n"+indent(spec)).Policies
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// describe writes what policies say, a line for each thing.
func describe(policies []snapshot.Policy) []string {
	out := []string{}
	for _, p := range policies {
		if len(policies) > 1 {
			out = append(out, fmt.Sprintf("part %d", p.Part))
		}
		if p.Invalid != "" {
			out = append(out, "invalid: "+p.Invalid)
		}
		for _, s := range p.Subject {
			out = append(out, "selects "+describePods(s))
		}
		for _, d := range snapshot.Directions() {
			if p.Isolates[d] {
				out = append(out, "isolates "+d.String())
			}
			for _, r := range p.Rules[d] {
				out = append(out, d.String()+" "+describeRule(r))
			}
		}
	}
	return out
}

func describeRule(r snapshot.Rule) string {
	words := []string{[]string{"allow", "deny", "pass"}[r.Action]}
	if r.Narrow {
		words = append(words, "some of")
	}
	words = append(words, describePeers(r.Peers), "on", describePorts(r.Ports))
	return strings.Join(words, " ")
}

func describePeers(p snapshot.Peers) string {
	var parts []string
	if p.Everyone {
		parts = append(parts, "everyone")
	}
	if p.Internet {
		parts = append(parts, "the world")
	}
	for _, pods := range p.Pods {
		parts = append(parts, describePods(pods))
	}
	for _, b := range p.CIDRs {
		text := b.Prefix.String()
		for _, e := range b.Except {
			text += " but " + e.String()
		}
		if !p.CIDRsMatchPods {
			text += " outside"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "nobody"
	}
	return strings.Join(parts, " + ")
}

func describePods(p snapshot.PodPeer) string {
	text := "pods"
	if len(p.Pods) > 0 {
		text += " [" + describeSelector(p.Pods) + "]"
	}
	switch {
	case p.OwnNamespace:
		text += " here"
	case len(p.Namespaces) > 0:
		text += " in [" + describeSelector(p.Namespaces) + "]"
	default:
		text += " anywhere"
	}
	return text
}

func describeSelector(s snapshot.Selector) string {
	var all []string
	for _, r := range s {
		all = append(all, strings.TrimSpace(r.Key+" "+string(r.Op)+" "+strings.Join(r.Values, "|")))
	}
	return strings.Join(all, " & ")
}

func describePorts(p snapshot.Ports) string {
	var parts []string
	if p.All {
		parts = append(parts, "every port")
	}
	for _, r := range p.Ranges {
		parts = append(parts, fmt.Sprintf("%s %d-%d", r.Protocol, r.First, r.Last))
	}
	if p.Named > 0 {
		parts = append(parts, fmt.Sprintf("%d named", p.Named))
	}
	if len(parts) == 0 {
		return "no port"
	}
	return strings.Join(parts, ", ")
}

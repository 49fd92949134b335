package calico_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// takeCalico takes in an object of a kind of Calico, written in YAML.
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

// globalPolicy takes in a GlobalNetworkPolicy by its spec.
func globalPolicy(t *testing.T, spec string) []snapshot.Policy {
	t.Helper()
	return takeCalico(t, snapshot.CalicoGlobalNetworkPolicies, "metadata: {name: p}\nspec:\n"+indent(spec)).Policies
}

// localPolicy takes in a NetworkPolicy of team-a by its spec.
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

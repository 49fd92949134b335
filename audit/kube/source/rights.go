package source

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rights returns what a role must allow to read the kinds, with those of host sources in
// place of snapshot.HostSources: a rule for each API group, and one for each kind of which
// only some objects are read, by group.
func Rights(kinds []snapshot.Kind, hosts []hostsource.Source) []rbacv1.PolicyRule {
	var sources []snapshot.Kind
	for i := range hosts {
		sources = append(sources, hosts[i].Kind)
	}
	kinds = slices.Sorted(slices.Values(ingest.ExpandHostSources(kinds, sources, &snapshot.Builder{})))
	only := map[snapshot.Kind][]string{}
	for _, c := range ingest.Customs() {
		for _, name := range c.Only {
			only[c.Kind] = append(only[c.Kind], name.Name)
		}
	}
	var rules []rbacv1.PolicyRule
	at := map[string]int{}
	for _, k := range slices.Compact(kinds) {
		if names := only[k]; len(names) > 0 {
			rules = append(rules, rbacv1.PolicyRule{
				APIGroups: []string{k.Group()}, Resources: []string{k.Resource()},
				ResourceNames: slices.Compact(slices.Sorted(slices.Values(names))), Verbs: []string{"get"},
			})
			continue
		}
		i, ok := at[k.Group()]
		if !ok {
			i, at[k.Group()] = len(rules), len(rules)
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{k.Group()}, Verbs: []string{"list"}})
		}
		rules[i].Resources = append(rules[i].Resources, k.Resource())
	}
	slices.SortStableFunc(rules, func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.APIGroups[0], b.APIGroups[0]) })
	return rules
}

// Unreachable adds all kinds as failed, for a server to which there is no connection.
func (s *Source) Unreachable(kinds []snapshot.Kind, err error, b *snapshot.Builder) {
	kinds = ingest.ExpandHostSources(kinds, slices.Collect(maps.Keys(s.hosts)), b)
	for _, kind := range kinds {
		b.Add(snapshot.Facts{}, snapshot.Read{Kind: kind, Status: snapshot.Failed, Err: kube.Reason(err)})
	}
}

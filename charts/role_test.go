package charts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// rights lists what rules allow, a line for each verb and kind, sorted.
func rights(list []rbacv1.PolicyRule) []string {
	var out []string
	for _, r := range list {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					line := verb + " " + string(snapshot.KindOf(group, resource))
					if len(r.ResourceNames) == 0 {
						out = append(out, line)
					}
					for _, name := range r.ResourceNames {
						out = append(out, line+" "+name)
					}
				}
			}
		}
		for _, url := range r.NonResourceURLs {
			out = append(out, fmt.Sprintf("%v %s", r.Verbs, url))
		}
	}
	slices.Sort(out)
	return out
}

// TestRoleFollowsTheConfig: the ClusterRole has what a sweep by the config reads,
// as the code says, and nothing else.
func TestRoleFollowsTheConfig(t *testing.T) {
	configs := map[string]string{
		"the default":                 "{}",
		"null where something may be": "{rules: {owner-known: null, default-deny-present: {enabled: true}}, hostSources: null}",
		"a source of hosts more":      "{hostSources: [{group: example.org, version: v1, resource: doors, kind: Door, hosts: 'object.spec.hosts'}]}",
		"one of the core group":       `{hostSources: [{group: "", version: v1, resource: services, kind: Service, hosts: 'object.spec.hosts'}]}`,
		"a built-in one less":         "{hostSources: [{group: route.openshift.io, resource: routes, enabled: false}]}",
		"a built-in one with a claim": "{hostSources: [{group: route.openshift.io, resource: routes, hosts: 'object.spec.host'}]}",
		"no rule at all":              "{rules: {" + strings.Join(offs(catalog.All()), ", ") + "}}",
	}
	for i, r := range catalog.All() {
		others := slices.Delete(catalog.All(), i, i+1)
		configs["all but "+r.Name] = "{rules: {" + strings.Join(offs([]*rules.Rule{r}), ", ") + "}}"
		configs["none but "+r.Name] = "{rules: {" + strings.Join(offs(others), ", ") + "}}"
	}
	for name, text := range configs {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse([]byte(text), name, catalog.All())
			if err != nil {
				t.Fatal(err)
			}
			got := rights(as[rbacv1.ClusterRole](t, render(t, "config: "+text), "ClusterRole/audit").Rules)
			if diff := cmp.Diff(needs(&c), got); diff != "" {
				t.Errorf("rights (-needed +given):\n%s", diff)
			}
		})
	}
}

// offs switches rules off.
func offs(set []*rules.Rule) []string {
	var out []string
	for _, r := range set {
		out = append(out, r.Name+": {enabled: false}")
	}
	return out
}

// needs lists the rights that a sweep by a config needs.
func needs(c *config.Config) []string {
	var set []*rules.Rule
	for _, r := range catalog.All() {
		if c.Settings(r).Enabled {
			set = append(set, r)
		}
	}
	var out []string
	for _, kind := range audit.Needs(set) {
		switch kind {
		case snapshot.HostSources:
			for _, s := range c.EnabledHostSources() {
				out = append(out, "list "+string(s.Kind))
			}
		case snapshot.CiliumConfigs:
			out = append(out, "get configmaps cilium-config")
		default:
			out = append(out, "list "+string(kind))
		}
	}
	slices.Sort(out)
	return out
}

// TestRolesForPeople: whoever runs audit from a laptop needs what the chart's pod
// has.
func TestRolesForPeople(t *testing.T) {
	m := render(t, "")
	clusterRole := rights(as[rbacv1.ClusterRole](t, m, "ClusterRole/audit").Rules)
	for file, want := range map[string][]string{
		"read-only.yaml": clusterRole,
		"publish.yaml":   rights(as[rbacv1.Role](t, m, "Role/audit").Rules),
		"events.yaml":    {"create events.events.k8s.io"},
	} {
		if diff := cmp.Diff(want, rights(readRules(t, file))); diff != "" {
			t.Errorf("rights of %s (-chart +file):\n%s", file, diff)
		}
	}
	recording := rights(as[rbacv1.ClusterRole](t, render(t, "config: {events: true}"), "ClusterRole/audit").Rules)
	both := rights(slices.Concat(readRules(t, "read-only.yaml"), readRules(t, "events.yaml")))
	if diff := cmp.Diff(both, recording); diff != "" {
		t.Errorf("rights where Events are recorded (-files +chart):\n%s", diff)
	}
}

// readRules returns the rules of the roles in a file.
func readRules(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // nothing was written that could be lost
	var list []rbacv1.PolicyRule
	for d := utilyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		var role rbacv1.ClusterRole // what is none has no rules
		err := d.Decode(&role)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, role.Rules...)
	}
}

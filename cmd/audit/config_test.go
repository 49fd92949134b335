package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestConfigRights: the role that the command prints is the one of the charts.
func TestConfigRights(t *testing.T) {
	got := execute("config", "rights")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(got.stdout), &role); err != nil || got.code != 0 {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.stderr)
	}
	flat := func(rules []rbacv1.PolicyRule) []string {
		var out []string
		for _, r := range rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						out = append(out, verb+" "+resource+"."+group)
					}
				}
			}
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(flat(rights(t)), flat(role.Rules)); diff != "" {
		t.Errorf("(-charts/read-only.yaml +audit config rights)\n%s", diff)
	}
}

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const readOnlyRole = moduleRoot + "/charts/read-only.yaml"

// unsupportedKinds are the kinds of policies among the definitions of the tests that audit
// does not support. No role can list the rights that they need.
var unsupportedKinds = rbacv1.PolicyRule{
	APIGroups: []string{"crd.antrea.io"}, Resources: []string{"networkpolicies", "clusternetworkpolicies"}, Verbs: []string{"list"},
}

func TestReadOnlyRoleSuffices(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	applyEstate(t, c)
	kubectl(t, c, "apply", "-f", readOnlyRole)
	kubectl(t, c, "create", "clusterrolebinding", "audit-read-only", "--clusterrole", "audit-read-only", "--user", kubetest.Guest)
	allow(t, c, unsupportedKinds)
	awaitSweep(t, c)
	want := sweep(t, exitFindings, "--kubeconfig", c.Kubeconfig(kubetest.Admin))
	got := sweep(t, exitFindings, "--kubeconfig", c.Kubeconfig(kubetest.Guest))
	compareReports(t, want, got)
	if !got.Complete || len(got.Findings) == 0 {
		t.Errorf("complete: %t, findings: %d", got.Complete, len(got.Findings))
	}
}

// awaitSweep waits, with a limit, until the guest's sweep is complete: the API
// server enforces new rights a moment after they are stored.
func awaitSweep(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if execute("--once", "--kubeconfig", c.Kubeconfig(kubetest.Guest)).code != exitIncomplete {
			return
		}
	}
}

// TestReadOnlyRoleOnlyReads the kinds that rules need, and none that may hold a secret.
func TestReadOnlyRoleOnlyReads(t *testing.T) {
	config := rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cilium-config"}, Verbs: []string{"get"},
	}
	var read []snapshot.Kind
	for _, rule := range rights(t) {
		list := slices.Equal(rule.Verbs, []string{"list"}) && len(rule.ResourceNames)+len(rule.NonResourceURLs) == 0
		if !list && !cmp.Equal(config, rule) {
			t.Errorf("%v grants more or less than reading", rule)
		}
		read = append(read, kindsOf(rule)...)
	}
	slices.Sort(read)
	if diff := cmp.Diff(needed(), read); diff != "" {
		t.Errorf("kinds (-needed +read):\n%s", diff)
	}
}

// needed returns the kinds that a sweep reads without a config, sorted.
func needed() []snapshot.Kind {
	kinds := slices.DeleteFunc(audit.Needs(catalog.All()), func(k snapshot.Kind) bool { return k == snapshot.HostSources })
	for _, s := range hostsource.BuiltIn() {
		kinds = append(kinds, s.Kind)
	}
	slices.Sort(kinds)
	return kinds
}

// TestReadOnlyRoleHasNoUnneededRight takes away one kind after the other: each one is
// missing, and only for the rules that need it.
func TestReadOnlyRoleHasNoUnneededRight(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	for _, kind := range needed() {
		t.Run(string(kind), func(t *testing.T) {
			if err := c.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			allow(t, c, append(without(rights(t), kind), unsupportedKinds)...)
			r := sweep(t, exitIncomplete, "--kubeconfig", c.Kubeconfig(kubetest.Guest))
			if r.Complete {
				t.Error("the report calls itself complete")
			}
			checkUnread(t, r, kind)
			checkSkipped(t, r, kind)
		})
	}
}

func checkUnread(t *testing.T, r *report.Report, kind snapshot.Kind) {
	t.Helper()
	for _, k := range r.Kinds {
		want := "listed"
		if snapshot.Kind(kindName(k)) == kind {
			want = "forbidden"
		}
		if k.Status != want || (k.Error != "") != (want == "forbidden") {
			t.Errorf("%s is %s (%s), want %s", kindName(k), k.Status, k.Error, want)
		}
	}
}

func checkSkipped(t *testing.T, r *report.Report, kind snapshot.Kind) {
	t.Helper()
	var want, got []string
	for _, rule := range catalog.All() {
		host := slices.ContainsFunc(hostsource.BuiltIn(), func(s hostsource.Source) bool { return s.Kind == kind })
		if slices.Contains(rule.Needs, kind) || host && slices.Contains(rule.Needs, snapshot.HostSources) {
			want = append(want, rule.Name)
		}
	}
	for _, o := range r.Rules {
		if o.Status == "skipped" && strings.Contains(o.Reason, string(kind)+" forbidden") {
			got = append(got, o.Name)
		} else if o.Status != "ran" {
			t.Errorf("rule %s %s: %s", o.Name, o.Status, o.Reason)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skipped rules (-want +got):\n%s", diff)
	}
}

// rights returns the rules of the ClusterRole in charts.
func rights(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	data, err := os.ReadFile(readOnlyRole)
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

// without returns the rules less the right to read one kind.
func without(list []rbacv1.PolicyRule, kind snapshot.Kind) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range list {
		for _, group := range rule.APIGroups {
			one := rule
			one.APIGroups = []string{group}
			if group == kind.Group() {
				one.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool { return r == kind.Resource() })
			}
			if len(one.Resources) > 0 {
				out = append(out, one)
			}
		}
	}
	return out
}

func allow(t *testing.T, c *kubetest.Cluster, list ...rbacv1.PolicyRule) {
	t.Helper()
	if err := c.Allow(t.Context(), kubetest.Guest, list...); err != nil {
		t.Fatal(err)
	}
}

func kindsOf(rule rbacv1.PolicyRule) []snapshot.Kind {
	var kinds []snapshot.Kind
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			kinds = append(kinds, snapshot.Kind(kindName(report.KindRead{Group: group, Resource: resource})))
		}
	}
	return kinds
}

func kindName(k report.KindRead) string {
	if k.Group == "" {
		return k.Resource
	}
	return k.Resource + "." + k.Group
}

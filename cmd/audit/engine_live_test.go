package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// shopAndBank are two namespaces one of which denies everything by default.
const shopAndBank = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: shop}}
---
apiVersion: v1
kind: Namespace
metadata: {name: bank, labels: {team: bank}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: bank}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: shop}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
`

// unsupportedPolicy is of a kind that audit does not support.
const unsupportedPolicy = `
apiVersion: crd.antrea.io/v1beta1
kind: NetworkPolicy
metadata: {name: deny, namespace: bank}
spec: {priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop}], egress: [{action: Drop}]}
`

func applyText(t *testing.T, c *kubetest.Cluster, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	writeFile(t, file, text)
	kubectl(t, c, "apply", "--server-side", "-f", file)
}

// TestForbiddenEngine: what the policies of an engine allow is unknown if they cannot be
// read, and so is the effect of all engines together.
func TestForbiddenEngine(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	for _, kind := range []snapshot.Kind{
		snapshot.CiliumNetworkPolicies, snapshot.CiliumConfigs, snapshot.CalicoTiers, snapshot.StoredCalicoGlobalPolicies,
		snapshot.BaselineAdminNetworkPolicies, snapshot.AWSClusterNetworkPolicies,
	} {
		t.Run(string(kind), func(t *testing.T) {
			if err := c.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			applyText(t, c, shopAndBank)
			allow(t, c, append(without(rights(t), kind), unsupportedKinds)...)
			for _, format := range report.Formats() {
				got := execute("--once", "--rule", "default-deny-present", "--kubeconfig", c.Kubeconfig(kubetest.Guest), "-o", string(format))
				checkUnknown(t, got)
				for _, want := range []string{"forbidden", `User "guest" cannot `, kind.Resource(), kind.Group()} {
					if !strings.Contains(strings.ReplaceAll(got.stdout, `\"`, `"`), want) {
						t.Errorf("%s: the report does not contain %q:\n%s", format, want, got.stdout)
					}
				}
			}
			r := sweep(t, exitIncomplete, "--kubeconfig", c.Kubeconfig(kubetest.Guest))
			if n := len(r.Isolation); n > 0 {
				t.Errorf("%d namespaces have a row of isolation", n)
			}
			if slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Rule == "default-deny-present" }) {
				t.Error("default-deny-present has findings")
			}
			checkSkipped(t, r, kind)
		})
	}
}

// TestUnsupportedPolicies: a namespace that has some is not evaluated, and the others
// are.
func TestUnsupportedPolicies(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	applyText(t, c, shopAndBank)
	admin := c.Kubeconfig(kubetest.Admin)
	denials := func(r *report.Report) (open, notEvaluated []string) {
		for _, f := range r.Findings {
			open = append(open, f.Subject.Name+" "+f.Subject.Detail)
		}
		for _, a := range r.Advisories {
			if a.Subject.Detail == "not evaluated" {
				notEvaluated = append(notEvaluated, a.Subject.Name)
			}
		}
		return open, notEvaluated
	}
	check := func(r *report.Report, wantOpen, wantNot []string) {
		t.Helper()
		if open, not := denials(r); !slices.Equal(open, wantOpen) || !slices.Equal(not, wantNot) {
			t.Errorf("findings %q and not evaluated %q, want %q and %q", open, not, wantOpen, wantNot)
		}
	}
	rule := []string{"--rule", "default-deny-present", "--kubeconfig"}

	// Served and empty, they change nothing.
	check(sweep(t, exitFindings, append(rule, admin)...), []string{"bank Egress", "bank Ingress"}, nil)

	applyText(t, c, unsupportedPolicy)
	r := sweep(t, exitIncomplete, append(rule, admin)...)
	check(r, nil, []string{"bank"})
	if !r.Complete || !strings.Contains(r.Advisories[0].Message, "networkpolicies.crd.antrea.io") {
		t.Errorf("complete: %t; advisories: %+v", r.Complete, r.Advisories)
	}
	for _, row := range r.Isolation {
		if not := len(row.NotEvaluated) > 0; not != (row.Namespace == "bank") {
			t.Errorf("namespace %s is not evaluated for %v", row.Namespace, row.NotEvaluated)
		}
	}

	// If they cannot be listed, they may be in any namespace.
	allow(t, c, append(rights(t), rbacv1.PolicyRule{
		APIGroups: unsupportedKinds.APIGroups, Resources: []string{"clusternetworkpolicies"}, Verbs: unsupportedKinds.Verbs,
	})...)
	r = sweep(t, exitIncomplete, append(rule, c.Kubeconfig(kubetest.Guest))...)
	check(r, nil, []string{"bank", "default", "shop"})
	for _, k := range r.Kinds {
		if want := kindName(k) == "networkpolicies.crd.antrea.io"; (k.Status == "forbidden") != want {
			t.Errorf("%s is %s: %s", kindName(k), k.Status, k.Error)
		}
	}
}

// TestHostOfAnIngressAndOfACustomKind: one host is one finding, regardless of the
// kinds of its claimants.
func TestHostOfAnIngressAndOfACustomKind(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	applyText(t, c, shopAndBank+`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec: {rules: [{host: pay.example.com}]}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: web, namespace: bank}
spec: {host: pay.example.com, to: {kind: Service, name: web}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: bank}
spec: {gatewayClassName: shared, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: bank}
spec: {parentRefs: [{name: edge}], hostnames: [pay.example.com]}
`)
	r := sweep(t, exitFindings, "--rule", "one-owner-per-host", "--kubeconfig", c.Kubeconfig(kubetest.Admin))
	want := []string{"HTTPRoute bank/web", "Ingress shop/web", "Route bank/web"}
	if len(r.Findings) != 1 || r.Findings[0].Subject.Name != "pay.example.com" || !slices.Equal(refs(r.Findings[0].Objects), want) {
		t.Errorf("findings %+v, want one of pay.example.com on %v", r.Findings, want)
	}
}

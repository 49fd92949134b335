package source_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// specs are such as the definitions of the kinds ask for; %[1]d is the number of
// the object. Of a kind that is not here anything is admitted.
var specs = map[snapshot.Kind]string{
	snapshot.Gateways:                     `{gatewayClassName: shared, listeners: [{name: http, port: 80, protocol: HTTP}]}`,
	snapshot.ListenerSets:                 `{parentRef: {name: edge}, listeners: [{name: http, port: 80, protocol: HTTP, hostname: shop-%[1]d.example.com}]}`,
	snapshot.HTTPRoutes:                   `{parentRefs: [{name: edge}], hostnames: [shop-%[1]d.example.com]}`,
	snapshot.GRPCRoutes:                   `{parentRefs: [{name: edge}], hostnames: [shop-%[1]d.example.com]}`,
	snapshot.TLSRoutes:                    `{parentRefs: [{name: edge}], hostnames: [shop-%[1]d.example.com], rules: [{backendRefs: [{name: shop, port: 443}]}]}`,
	snapshot.ClusterNetworkPolicies:       `{tier: Admin, priority: %[1]d, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}`,
	snapshot.AdminNetworkPolicies:         `{priority: %[1]d, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}`,
	snapshot.BaselineAdminNetworkPolicies: `{subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}`,
	// An empty list means something else than none.
	snapshot.CiliumNetworkPolicies: `{endpointSelector: {}, ingress: [{fromEndpoints: []}], egress: []}`,
	snapshot.CalicoTiers:           `{order: %[1]d}`,
	snapshot.StoredCalicoTiers:     `{order: %[1]d}`,
}

// onlyNames are the names of kinds that have not just any.
var onlyNames = map[snapshot.Kind][]string{
	snapshot.BaselineAdminNetworkPolicies: {"default"},
	snapshot.CiliumConfigs:                {"cilium-config"},
}

// names returns what the objects of a kind are called in the custom world.
func names(kind snapshot.Kind) []string {
	if only, ok := onlyNames[kind]; ok {
		return only
	}
	var names []string
	for i := range worldSize {
		names = append(names, fmt.Sprintf("object-%d", i+1))
	}
	return names
}

// customKinds returns all custom kinds that there are facts of, sorted.
func customKinds() []snapshot.Kind {
	var kinds []snapshot.Kind
	for _, c := range ingest.Customs() {
		kinds = append(kinds, c.Kind)
	}
	slices.Sort(kinds)
	return kinds
}

// populateCustom makes objects of every custom kind, most in namespace default.
func populateCustom(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	var world strings.Builder
	for _, kind := range ingest.Customs() {
		for i, name := range names(kind.Kind) {
			version, namespace := kind.Kind.Group()+"/"+kind.Versions[0], "default"
			if kind.Kind.Group() == "" {
				version = kind.Versions[0]
			}
			if len(kind.Only) > 0 {
				namespace = kind.Only[0].Namespace
			}
			fmt.Fprintf(&world, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s", version, kind.Object, name)
			if kind.Namespaced {
				fmt.Fprintf(&world, ", namespace: %s", namespace)
			}
			fmt.Fprintln(&world, "}")
			if spec := strings.ReplaceAll(specs[kind.Kind], "%[1]d", fmt.Sprint(i+1)); spec != "" {
				fmt.Fprintln(&world, "spec:", spec)
			}
		}
	}
	create(t, c, world.String())
}

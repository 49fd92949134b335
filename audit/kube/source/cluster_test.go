package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// worldKinds are all kinds that the source reads with typed clients.
var worldKinds = slices.Concat(snapshot.WorkloadKinds(), snapshot.AdmissionKinds(), []snapshot.Kind{
	snapshot.Namespaces, snapshot.Pods, snapshot.Ingresses, snapshot.IngressClasses, snapshot.NetworkPolicies,
})

// worldSize is the number of objects of each kind in populate's world.
const worldSize = 5

// district holds one object of each kind; %[1]d is its number.
const district = `
apiVersion: v1
kind: Namespace
metadata: {name: team-%[1]d, labels: {team: team-%[1]d}}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: class-%[1]d}
spec: {controller: example.com/class-%[1]d}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: team-%[1]d}
spec:
  ingressClassName: class-%[1]d
  rules: [{host: shop-%[1]d.example.com}]
  defaultBackend: {service: {name: web, port: {number: 80}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: team-%[1]d}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: team-%[1]d, labels: {app: web}}
spec: {containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: web, namespace: team-%[1]d}
spec: {selector: {app: web}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-%[1]d}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, namespace: team-%[1]d}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: team-%[1]d}
spec: {serviceName: web, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web, namespace: team-%[1]d}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: team-%[1]d}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: web}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: hourly, namespace: team-%[1]d}
spec: {schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: web}]}}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: gate-%[1]d}
webhooks:
- name: gate.example.com
  clientConfig: {url: "https://gate.example.com"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [unicorns], operations: [CREATE]}]
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: gate-%[1]d}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [example.com], apiVersions: [v1], resources: [unicorns], operations: [CREATE]}]
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: gate-%[1]d}
spec: {policyName: gate-%[1]d, validationActions: [Deny]}
---
`

// populate fills the cluster with worldSize objects of each kind.
func populate(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	var world strings.Builder
	for i := range worldSize {
		fmt.Fprintf(&world, district, i+1)
	}
	create(t, c, world.String())
}

// create makes objects of manifests.
func create(t *testing.T, c *kubetest.Cluster, manifests string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "create", "-f", file)
}

func kubectl(t *testing.T, c *kubetest.Cluster, args ...string) {
	t.Helper()
	if _, err := c.Kubectl(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

// specs are valid for the definitions of the kinds; %[1]d is the number of
// the object. For other kinds any spec is admitted.
var specs = map[snapshot.Kind]string{
	snapshot.Gateways:                     `{gatewayClassName: shared, listeners: [{name: http, port: 80, protocol: HTTP}]}`,
	snapshot.ListenerSets:                 `{parentRef: {name: edge}, listeners: [{name: http, port: 80, protocol: HTTP, hostname: shop-%[1]d.example.com}]}`,
	snapshot.HTTPRoutes:                   `{parentRefs: [{name: edge}], hostnames: [shop-%[1]d.example.com]}`,
	snapshot.GRPCRoutes:                   `{parentRefs: [{name: edge}], hostnames: [shop-%[1]d.example.com]}`,
	snapshot.TLSRoutes:                    `{parentRefs: [{name: edge}], hostnames: [shop-%[1]d.example.com], rules: [{backendRefs: [{name: shop, port: 443}]}]}`,
	snapshot.ClusterNetworkPolicies:       `{tier: Admin, priority: %[1]d, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}`,
	snapshot.AdminNetworkPolicies:         `{priority: %[1]d, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}`,
	snapshot.BaselineAdminNetworkPolicies: `{subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {}}]}]}`,
	// An empty list differs from a missing one.
	snapshot.CiliumNetworkPolicies: `{endpointSelector: {}, ingress: [{fromEndpoints: []}], egress: []}`,
	snapshot.CalicoTiers:           `{order: %[1]d}`,
	snapshot.StoredCalicoTiers:     `{order: %[1]d}`,
}

// onlyNames are the object names of kinds whose names are not free.
var onlyNames = map[snapshot.Kind][]string{
	snapshot.BaselineAdminNetworkPolicies: {"default"},
	snapshot.CiliumConfigs:                {"cilium-config"},
}

// names returns the names of a kind's objects in the custom world.
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

// customKinds returns all custom kinds that have facts, sorted.
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

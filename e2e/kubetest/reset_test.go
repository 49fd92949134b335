package kubetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// leftovers are objects that are hard to delete: a pod on a node, finalizers, a
// custom resource, rights, and labels and annotations of built-in Namespaces.
const leftovers = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, finalizers: [example.com/hold]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, finalizers: [example.com/hold]}
spec: {nodeName: node1, containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: web, image: web}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: shop}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: web}]}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: kube-system}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: example.com/nginx}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: shop}
spec: {podSelector: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: notes, namespace: shop}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: sweep, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: guest-sees-all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: guest}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: unicorns.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Unicorn, plural: unicorns}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

const unicorn = `
apiVersion: example.com/v1
kind: Unicorn
metadata: {name: pinky, namespace: shop, finalizers: [example.com/hold]}
`

func TestResetKeepsBuiltInObjects(t *testing.T) {
	c := control.Cluster(t)
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := c.Kubectl(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	objects := func() string {
		// Only deletable kinds: component statuses are not sorted.
		kinds := strings.Fields(kubectl("api-resources", "--verbs=list,delete", "-o", "name"))
		return kubectl("get", strings.Join(kinds, ","), "-A", "-o", "name", "--ignore-not-found")
	}
	before := objects()
	file := filepath.Join(t.TempDir(), "leftovers.yaml")
	// Twice, because objects left in a Namespace would reappear with the next one
	// of that name.
	for range 2 {
		write(t, file, leftovers)
		kubectl("apply", "-f", file)
		kubectl("wait", "--for=condition=Established", "crd/unicorns.example.com")
		write(t, file, unicorn)
		kubectl("apply", "-f", file)
		kubectl("label", "namespace", "default", "team=a")
		kubectl("annotate", "namespace", "kube-system", "owner=b")

		began := time.Now()
		if err := c.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("reset took %v", time.Since(began).Round(time.Millisecond))
		if diff := cmp.Diff(before, objects()); diff != "" {
			t.Errorf("objects after reset (-want +got):\n%s", diff)
		}
		metadata := kubectl("get", "namespaces", "-o", "jsonpath={range .items[*]}{.metadata.labels}{.metadata.annotations}{end}")
		if strings.Contains(metadata, "team") || strings.Contains(metadata, "owner") {
			t.Errorf("labels or annotations of namespaces stay: %s", metadata)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

package kubetest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// oneOfEach has an object of a kind in testdata/crds and of one in each module.
const oneOfEach = `
apiVersion: cilium.io/v2
kind: CiliumNetworkPolicy
metadata: {name: deny, namespace: default, finalizers: [example.com/hold]}
spec: {endpointSelector: {}, ingress: []}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: default}
spec: {hostnames: [shop.example.com]}
---
apiVersion: policy.networking.k8s.io/v1beta1
kind: ClusterNetworkPolicy
metadata: {name: deny}
spec: {tier: Admin, priority: 1, subject: {namespaces: {}}}
---
apiVersion: policy.networking.k8s.io/v1alpha1
kind: BaselineAdminNetworkPolicy
metadata: {name: default}
spec: {subject: {namespaces: {}}}
`

func TestInstallCRDsWaitsForKinds(t *testing.T) {
	c := control.Cluster(t)
	took := func(what string, do func() error) {
		t.Helper()
		began := time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s took %v", what, time.Since(began).Round(time.Millisecond))
	}
	file := filepath.Join(t.TempDir(), "objects.yaml")
	write(t, file, oneOfEach)
	apply := func() error { _, err := c.Kubectl(t.Context(), "apply", "-f", file); return err }
	count := func() int {
		t.Helper()
		const kinds = "ciliumnetworkpolicies,httproutes,clusternetworkpolicies.policy.networking.k8s.io,baselineadminnetworkpolicies"
		out, err := c.Kubectl(t.Context(), "get", kinds, "-A", "-o", "name")
		if err != nil {
			t.Fatal(err)
		}
		return len(strings.Fields(out))
	}

	folders, err := CRDFolders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	took("install", func() error { return c.InstallCRDs(t.Context(), folders...) })
	// Creating an object of the same name again needs it to be gone.
	for range 2 {
		took("apply", apply)
		if n := count(); n != 4 {
			t.Errorf("%d objects, want 4", n)
		}
		took("empty", func() error { return c.Empty(t.Context()) })
		if n := count(); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	}
	took("reset", func() error { return c.Reset(t.Context()) })
	if err := apply(); err == nil {
		t.Error("the kinds are still served")
	}
	// A single file can be installed, even after its kinds were deleted.
	took("install of one", func() error { return c.InstallCRDs(t.Context(), filepath.Join(folders[0], "cilium.yaml")) })
}

func TestInstallCRDsReportsMissingFiles(t *testing.T) {
	empty := t.TempDir()
	write(t, filepath.Join(empty, "other.yaml"), "kind: Kustomization\n---\napiVersion: v1\nkind: Namespace\n")
	for path, want := range map[string]string{
		empty:                     "no CustomResourceDefinition found",
		filepath.Join(empty, "x"): "no such file",
	} {
		err := (&Cluster{}).InstallCRDs(t.Context(), path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "install CustomResourceDefinitions: read "+path) {
			t.Errorf("install %s: %v, want %q", path, err, want)
		}
	}
	t.Setenv("GOPROXY", "off")
	if _, err := moduleFolder(t.Context(), empty, "list", "-m", "-json", "example.com/nowhere@v1.0.0"); err == nil {
		t.Error("found a module that does not exist")
	}
}

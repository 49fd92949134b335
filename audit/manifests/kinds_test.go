package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// object is the manifest of an object with a name and nothing else.
func object(apiVersion, kind, name string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {namespace: shop, name: %s}\n", apiVersion, kind, name)
}

func TestReadTakesInEveryVersionOfAKind(t *testing.T) {
	for kind, versions := range map[string][]string{
		"Namespace":             {"v1"},
		"Pod":                   {"v1"},
		"ReplicationController": {"v1"},
		"Deployment":            {"apps/v1", "apps/v1beta2", "apps/v1beta1", "extensions/v1beta1"},
		"ReplicaSet":            {"apps/v1", "apps/v1beta2", "extensions/v1beta1"},
		"StatefulSet":           {"apps/v1", "apps/v1beta2", "apps/v1beta1"},
		"DaemonSet":             {"apps/v1", "apps/v1beta2", "extensions/v1beta1"},
		"Job":                   {"batch/v1"},
		"CronJob":               {"batch/v1", "batch/v1beta1"},
		"Ingress":               {"networking.k8s.io/v1", "networking.k8s.io/v1beta1", "extensions/v1beta1"},
		"IngressClass":          {"networking.k8s.io/v1", "networking.k8s.io/v1beta1"},
		"NetworkPolicy":         {"networking.k8s.io/v1", "extensions/v1beta1"},
	} {
		for _, version := range versions {
			t.Run(version+" "+kind, func(t *testing.T) {
				got, snap := read(t, stdin(strings.NewReader(object(version, kind, "web"))))
				if len(got.objects) != 1 || len(got.problems)+len(got.passed) != 0 {
					t.Fatalf("got %+v, want one object", got)
				}
				if want := kind + " "; !strings.HasPrefix(got.objects[0], want) {
					t.Errorf("got %s, want a %s", got.objects[0], kind)
				}
				counted := 0
				for _, r := range snap.Reads() {
					counted += r.Items
				}
				if counted != 1 {
					t.Errorf("%d objects are counted, want one", counted)
				}
			})
		}
	}
}

// The API group tells what a kind is. Old versions are the same object as the
// new ones.
func TestReadOldVersionsAreTheSameObject(t *testing.T) {
	in := object("networking.k8s.io/v1", "Ingress", "web") + "---\n" + object("networking.k8s.io/v1beta1", "Ingress", "web") +
		"---\n" + object("extensions/v1beta1", "Ingress", "web")
	got, _ := read(t, stdin(strings.NewReader(in)))
	if diff := cmp.Diff([]string{"Ingress shop/web"}, got.objects); diff != "" {
		t.Error(diff)
	}
}

func TestReadPassesOverWhatOnlyLooksAlike(t *testing.T) {
	lookalikes := []string{
		"networking.internal.knative.dev/v1alpha1 Ingress", "config.openshift.io/v1 Ingress", "example.com/v1 Namespace",
		"serverless.example.com/v1 Job", "projectcalico.org/v3 StagedNetworkPolicy", "networking.istio.io/v1 IngressClass",
		"networking.k8s.io/v2 Ingress", "extensions/v1 Ingress", "v1 Deployment", "apps/v1 Pod",
		"extensions/v1beta1 StatefulSet", "networking.k8s.io/v1 ingress",
	}
	for _, l := range lookalikes {
		t.Run(l, func(t *testing.T) {
			apiVersion, kind, _ := strings.Cut(l, " ")
			got, _ := read(t, stdin(strings.NewReader(object(apiVersion, kind, "web"))))
			if diff := cmp.Diff(reading{passed: []string{l + " x1"}}, got, cmp.AllowUnexported(reading{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadCountsWhatItPassesOverByGroupVersionAndKind(t *testing.T) {
	var in []string
	for _, o := range []string{
		"v1 Secret", "v1 ConfigMap", "v1 Secret", "example.com/v1 Shop", "example.com/v1beta1 Shop", "example.com/v1 Shop", "v1 Shop",
	} {
		apiVersion, kind, _ := strings.Cut(o, " ")
		in = append(in, object(apiVersion, kind, "web"))
	}
	got, _ := read(t, stdin(strings.NewReader(strings.Join(in, "---\n"))))
	want := []string{"example.com/v1 Shop x2", "example.com/v1beta1 Shop x1", "v1 ConfigMap x1", "v1 Secret x2", "v1 Shop x1"}
	if diff := cmp.Diff(reading{passed: want}, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Error(diff)
	}
}

// What manifests do not hold is not there, so a rule may judge without it.
func TestReadSaysThatEveryKindIsKnown(t *testing.T) {
	_, snap := read(t, stdin(strings.NewReader(namespace("a"))))
	reads := snap.Reads()
	for _, r := range reads {
		items := 0
		if r.Kind == snapshot.Namespaces {
			items = 1
		}
		if r.Version == "" || !r.Status.Known() || r.Items != items || r.Err != "" {
			t.Errorf("%+v, want it known with %d items", r, items)
		}
	}
	for _, kind := range audit.Needs(catalog.All()) {
		read := slices.ContainsFunc(reads, func(r snapshot.Read) bool { return r.Kind == kind })
		if !read && kind != snapshot.HostSources {
			t.Errorf("nothing is said of %s", kind)
		}
	}
}

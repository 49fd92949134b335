package manifests_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

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
		"CronJob":               {"batch/v1", "batch/v1beta1", "batch/v2alpha1"},
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

// The API group decides what a kind is. Old versions are the same object as the new
// ones.
func TestReadOldVersionsAreTheSameObject(t *testing.T) {
	in := object("networking.k8s.io/v1", "Ingress", "web") + "---\n" + object("networking.k8s.io/v1beta1", "Ingress", "web") +
		"---\n" + object("extensions/v1beta1", "Ingress", "web")
	got, _ := read(t, stdin(strings.NewReader(in)))
	if diff := gocmp.Diff([]string{"Ingress shop/web"}, got.objects); diff != "" {
		t.Error(diff)
	}
}

func TestReadPassesOverWhatOnlyLooksAlike(t *testing.T) {
	lookalikes := []string{
		"networking.internal.knative.dev/v1alpha1 Ingress", "config.openshift.io/v1 Ingress", "example.com/v1 Namespace",
		"serverless.example.com/v1 Job", "projectcalico.org/v3 StagedNetworkPolicy", "networking.istio.io/v1 IngressClass",
		"v1 Deployment", "apps/v1 Pod",
		"extensions/v1beta1 StatefulSet", "networking.k8s.io/v1 ingress",
	}
	for _, l := range lookalikes {
		t.Run(l, func(t *testing.T) {
			apiVersion, kind, _ := strings.Cut(l, " ")
			got, _ := read(t, stdin(strings.NewReader(object(apiVersion, kind, "web"))))
			if diff := gocmp.Diff(reading{passed: []string{l + " x1"}}, got, gocmp.AllowUnexported(reading{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a version that is not known means is unknown, so its objects are lost.
func TestReadUnknownVersionOfAKnownKind(t *testing.T) {
	for _, l := range []string{
		"networking.k8s.io/v2 Ingress", "extensions/v1 Ingress", "apps/v2 Deployment", "v2 Pod", "networking.k8s.io/v1alpha1 NetworkPolicy",
		"gateway.networking.k8s.io/v2 HTTPRoute", "cilium.io/v3 CiliumNetworkPolicy", "projectcalico.org/v4 GlobalNetworkPolicy",
		"admissionregistration.k8s.io/v2 ValidatingWebhookConfiguration",
	} {
		t.Run(l, func(t *testing.T) {
			apiVersion, kind, _ := strings.Cut(l, " ")
			streamCase{
				in:       object(apiVersion, kind, "web") + "---\n" + namespace("a"),
				objects:  []string{"Namespace a"},
				problems: []string{"document 1: " + kind + " of " + apiVersion + " is not supported: what this version means is unknown"},
			}.run(t)
		})
	}
	// No rule is concerned.
	var b snapshot.Builder
	got, err := stdin(strings.NewReader(object("apps/v2", "Deployment", "web"))).Read(t.Context(), []snapshot.Kind{snapshot.Namespaces}, &b)
	if err != nil || len(got.Problems) > 0 || len(got.Ignored) != 1 {
		t.Errorf("problems %+v, ignored %+v, %v", got.Problems, got.Ignored, err)
	}
}

// Versions and groups are views of one stored object, so two of them with other content
// cannot both be right. With the same content they are one object.
func TestReadOneObjectInTwoVersions(t *testing.T) {
	const (
		path  = "http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}"
		beta  = "http: {paths: [{path: /, pathType: Prefix, backend: {serviceName: web, servicePort: 80}}]}"
		route = "spec: {parentRefs: [{name: edge}], hostnames: [%s]}\n"
		deny  = "spec: {podSelector: {matchLabels: {app: %s}}, policyTypes: [Ingress]}\n"
		pods  = "spec: {selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}}}\n"
		cron  = "spec: {schedule: '@daily', jobTemplate: {spec: {template: {metadata: {labels: {app: %s}}}}}}\n"
		hook  = "webhooks: [{name: %s.example.com, failurePolicy: Ignore, timeoutSeconds: 30}]\n"
		class = "spec: {controller: example.com/%s}\n"
	)
	for _, c := range []struct{ kind, first, second, content, other string }{
		{"Ingress", "networking.k8s.io/v1", "networking.k8s.io/v1beta1", "spec: {rules: [{host: %s.example.com, " + path + "}]}\n", "spec: {rules: [{host: %s.example.com, " + beta + "}]}\n"},
		{"Ingress", "extensions/v1beta1", "networking.k8s.io/v1", "spec: {backend: {serviceName: %s, servicePort: 80}}\n", "spec: {defaultBackend: {service: {name: %s, port: {number: 80}}}}\n"},
		{"Ingress", "extensions/v1beta1", "networking.k8s.io/v1beta1", "spec: {rules: [{host: %s.example.com}]}\n", ""},
		{"IngressClass", "networking.k8s.io/v1", "networking.k8s.io/v1beta1", class, ""},
		{"NetworkPolicy", "networking.k8s.io/v1", "extensions/v1beta1", deny, ""},
		{"Deployment", "apps/v1", "extensions/v1beta1", pods, ""},
		{"Deployment", "apps/v1beta1", "apps/v1beta2", pods, ""},
		{"DaemonSet", "extensions/v1beta1", "apps/v1", pods, ""},
		{"ReplicaSet", "extensions/v1beta1", "apps/v1beta2", pods, ""},
		{"StatefulSet", "apps/v1", "apps/v1beta1", pods, ""},
		{"CronJob", "batch/v1", "batch/v1beta1", cron, ""},
		{"CronJob", "batch/v2alpha1", "batch/v1", cron, ""},
		{"HTTPRoute", "gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1beta1", route, ""},
		{"HTTPRoute", "gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1alpha2", route, ""},
		{"TLSRoute", "gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1alpha2", route, ""},
		{"ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1", hook, "webhooks: [{name: %s.example.com}]\n"},
	} {
		t.Run(c.kind+" "+c.first+" "+c.second, func(t *testing.T) {
			in := func(name string) string {
				if name == "" {
					name = "a"
				}
				return object(c.first, c.kind, "web") + fmt.Sprintf(c.content, "a") + "---\n" +
					object(c.second, c.kind, "web") + fmt.Sprintf(cmp.Or(c.other, c.content), name)
			}
			same, snap := read(t, stdin(strings.NewReader(in(""))))
			items := 0
			for _, r := range snap.Reads() {
				items += r.Items
			}
			if len(same.problems) > 0 || items != 1 {
				t.Errorf("the same content: %d objects, problems %q", items, same.problems)
			}
			if strings.Contains(c.content, "backend: {serviceName") {
				return // which service it is does not matter
			}
			differ, _ := read(t, stdin(strings.NewReader(in("b"))))
			if len(differ.problems) != 1 || !strings.Contains(differ.problems[0], " of "+c.second+" differs from the one of "+c.first+" in standard input document 1") {
				t.Errorf("other content: problems %q", differ.problems)
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
	if diff := gocmp.Diff(reading{passed: want}, got, gocmp.AllowUnexported(reading{})); diff != "" {
		t.Error(diff)
	}
}

// An object that is in no manifest does not exist, so a rule may evaluate without it.
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

// A default backend takes every host. Its field had another name before v1, and
// that other name means nothing in v1.
func TestReadDefaultBackendOfAnIngress(t *testing.T) {
	const (
		older = "spec: {backend: {serviceName: web, servicePort: 80}}\n"
		newer = "spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}\n"
		rules = "spec: {backend: {serviceName: web, servicePort: 80}, rules: [{host: a.example.com, http: {paths: [{path: /, backend: {serviceName: web, servicePort: 80}}]}}]}\n"
	)
	for _, c := range []struct {
		name       string
		apiVersion string
		spec       string
		want       bool
	}{
		{"networking.k8s.io/v1 calls it defaultBackend", "networking.k8s.io/v1", newer, true},
		{"networking.k8s.io/v1 knows no backend", "networking.k8s.io/v1", older, false},
		{"networking.k8s.io/v1beta1 calls it backend", "networking.k8s.io/v1beta1", older, true},
		{"networking.k8s.io/v1beta1 knows no defaultBackend", "networking.k8s.io/v1beta1", newer, false},
		{"extensions/v1beta1 calls it backend", "extensions/v1beta1", older, true},
		{"beside rules it takes what they leave", "extensions/v1beta1", rules, false},
		{"null is none", "extensions/v1beta1", "spec: {backend: null}\n", false},
		{"an Ingress without a spec has none", "extensions/v1beta1", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, snap := read(t, stdin(strings.NewReader(object(c.apiVersion, "Ingress", "web")+c.spec)))
			if len(got.objects) != 1 || len(got.problems) != 0 {
				t.Fatalf("got %+v, want one Ingress", got)
			}
			for f := range snap.View(snapshot.Ingresses).Ingresses() {
				if f.DefaultOnly != c.want {
					t.Errorf("default only: %t", f.DefaultOnly)
				}
				if f.ChallengePaths {
					t.Error("it counts as one of ACME challenges")
				}
			}
		})
	}
}

func TestReadKeepsAllElseOfAnOldIngress(t *testing.T) {
	in := `apiVersion: extensions/v1beta1
kind: Ingress
metadata:
  namespace: shop
  name: web
  uid: "7"
  creationTimestamp: "2027-01-15T12:00:00Z"
  annotations: {kubernetes.io/ingress.class: nginx}
spec:
  rules: [{host: a.example.com}, {host: b.example.com}]
  tls: [{hosts: [a.example.com]}]
`
	_, old := read(t, stdin(strings.NewReader(in)))
	_, now := read(t, stdin(strings.NewReader(strings.Replace(in, "extensions/v1beta1", "networking.k8s.io/v1", 1))))
	facts := func(s *snapshot.Snapshot) []*snapshot.Ingress {
		return slices.Collect(s.View(snapshot.Ingresses).Ingresses())
	}
	if diff := gocmp.Diff(facts(now), facts(old)); diff != "" {
		t.Errorf("facts (-v1 +old):\n%s", diff)
	}
}

// A kind that no rule needs is ignored, though it could be ingested.
func TestReadTakesInOnlyWhatWasAskedFor(t *testing.T) {
	var b snapshot.Builder
	in := namespace("a") + "---\n" + object("v1", "Pod", "web")
	got, err := stdin(strings.NewReader(in)).Read(t.Context(), []snapshot.Kind{snapshot.Namespaces}, &b)
	if err != nil {
		t.Fatal(err)
	}
	if want := (audit.IgnoredKind{Version: "v1", Kind: "Pod", Items: 1}); len(got.Ignored) != 1 || got.Ignored[0] != want {
		t.Errorf("ignored %+v, want %+v", got.Ignored, want)
	}
	snap := b.Freeze()
	if snap.Status(snapshot.Pods).Known() || !snap.Status(snapshot.Namespaces).Known() {
		t.Errorf("pods are %s, namespaces are %s", snap.Status(snapshot.Pods), snap.Status(snapshot.Namespaces))
	}
}

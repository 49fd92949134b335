package manifests_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
	if diff := cmp.Diff(facts(now), facts(old)); diff != "" {
		t.Errorf("facts (-v1 +old):\n%s", diff)
	}
}

// A kind that no rule asked for is passed over, though it could be taken in.
func TestReadTakesInOnlyWhatWasAskedFor(t *testing.T) {
	var b snapshot.Builder
	in := namespace("a") + "---\n" + object("v1", "Pod", "web")
	got, err := stdin(strings.NewReader(in)).Read(t.Context(), []snapshot.Kind{snapshot.Namespaces}, &b)
	if err != nil {
		t.Fatal(err)
	}
	if want := (audit.IgnoredKind{Version: "v1", Kind: "Pod", Items: 1}); len(got.Ignored) != 1 || got.Ignored[0] != want {
		t.Errorf("passed over %+v, want %+v", got.Ignored, want)
	}
	snap := b.Freeze()
	if snap.Status(snapshot.Pods).Known() || !snap.Status(snapshot.Namespaces).Known() {
		t.Errorf("pods are %s, namespaces are %s", snap.Status(snapshot.Pods), snap.Status(snapshot.Namespaces))
	}
}

// Package estate makes the objects of a cluster of any size, the same ones each
// time. They are as large as such objects are, and most are as they should be.
package estate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Size is how many objects of each kind there are.
type Size struct {
	Namespaces  int
	Ingresses   int
	Contested   int // of the Ingresses, those that claim a host that another team has
	Deployments int
	Pods        int
	Policies    int // a NetworkPolicy in as many namespaces; in the others nothing is denied
}

// Default is the estate by which targets are set.
func Default() Size {
	return Size{Namespaces: 1_000, Ingresses: 10_050, Contested: 50, Deployments: 5_000, Policies: 970}
}

// Large is ten times as large, and has pods.
func Large() Size {
	return Size{
		Namespaces: 10_000, Ingresses: 100_000, Contested: 50, Deployments: 5_000, Pods: 50_000, Policies: 10_000,
	}
}

// Check refuses a size of which there is no estate.
func (s Size) Check() error {
	switch {
	case s.Namespaces < 2*namespacesOfTeam:
		return fmt.Errorf("an estate needs %d namespaces, for two teams", 2*namespacesOfTeam)
	case s.Policies > s.Namespaces:
		return fmt.Errorf("there are %d namespaces for %d policies", s.Namespaces, s.Policies)
	case s.Contested > s.Ingresses/2:
		return fmt.Errorf("of %d ingresses %d are to claim hosts of others", s.Ingresses, s.Contested)
	case min(s.Ingresses, s.Contested, s.Deployments, s.Pods, s.Policies) < 0:
		return fmt.Errorf("there are no fewer than no objects")
	}
	return nil
}

// Objects is the number of all objects.
func (s Size) Objects() int {
	return s.Namespaces + s.Ingresses + s.Deployments + s.Pods + s.Policies
}

// namespacesOfTeam is how many namespaces one team owns.
const namespacesOfTeam = 10

// name is the name of the i-th namespace; beyond the last it starts again.
func (s Size) name(i int) string { return fmt.Sprintf("shop-%05d", i%s.Namespaces) }

// Namespace returns the i-th Namespace, which says whose it is.
func (s Size) Namespace(i int) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.name(i),
		Labels: map[string]string{
			"team": fmt.Sprintf("team-%04d", i/namespacesOfTeam), "env": "prod",
			"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted",
		},
		Annotations: map[string]string{"contact": "https://wiki.example.com/teams", "cost-centre": "4711"},
	}}
}

// Ingress returns the i-th Ingress. The last ones claim hosts that the first ones
// have, from a namespace of another team.
func (s Size) Ingress(i int) *networkingv1.Ingress {
	host := i
	namespace := s.name(i)
	if contested := s.Ingresses - s.Contested; i >= contested {
		host = i - contested
		namespace = s.name(host + s.Namespaces/2)
	}
	app, domain := fmt.Sprintf("web-%06d", i), fmt.Sprintf("h%06d.example.com", host)
	labels := appLabels(app)
	labels["helm.sh/chart"] = "web-1.18.4"
	class, prefix := "nginx", networkingv1.PathTypePrefix
	path := func(path string) networkingv1.HTTPIngressPath {
		return networkingv1.HTTPIngressPath{Path: path, PathType: &prefix, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: app, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}
	}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: app, Labels: labels,
			Annotations: map[string]string{
				"cert-manager.io/cluster-issuer":                 "letsencrypt",
				"meta.helm.sh/release-name":                      app,
				"meta.helm.sh/release-namespace":                 namespace,
				"nginx.ingress.kubernetes.io/proxy-body-size":    "8m",
				"nginx.ingress.kubernetes.io/proxy-read-timeout": "60",
			},
		},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			TLS:              []networkingv1.IngressTLS{{Hosts: []string{domain}, SecretName: app + "-tls"}},
			Rules: []networkingv1.IngressRule{{Host: domain, IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/"), path("/api")}},
			}}},
		},
	}
}

// appLabels are the labels that charts give to what belongs to an app.
func appLabels(app string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app,
		"app.kubernetes.io/version": "2.14.1", "app.kubernetes.io/managed-by": "Helm",
	}
}

// Stamp makes an object what an API server makes of one that is created: with a
// UID, a time and an entry of who manages its fields.
func Stamp(o metav1.Object, i int, now time.Time) {
	o.SetUID(uid(i))
	o.SetResourceVersion(fmt.Sprint(1000 + i))
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(now))
	at := metav1.NewTime(now)
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "estate", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(managed),
	}})
}

package ingest_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func rulesFor(hosts ...string) []networkingv1.IngressRule {
	var out []networkingv1.IngressRule
	for _, host := range hosts {
		out = append(out, networkingv1.IngressRule{Host: host})
	}
	return out
}

func backend() *networkingv1.IngressBackend {
	return &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web"}}
}

func claims(from snapshot.HostSource, hosts ...string) []snapshot.HostClaim {
	var out []snapshot.HostClaim
	for _, host := range hosts {
		out = append(out, snapshot.HostClaim{Host: host, Source: from})
	}
	return out
}

func fullIngress() *networkingv1.Ingress {
	o := &networkingv1.Ingress{ObjectMeta: fullMeta()}
	o.Annotations["alb.ingress.kubernetes.io/group.name"] = "public"
	o.Annotations["nginx.ingress.kubernetes.io/server-alias"] = "alias.example.com"
	o.Annotations["external-dns.alpha.kubernetes.io/hostname"] = "dns.example.com"
	o.Annotations["alb.ingress.kubernetes.io/conditions.web"] = `[{"field":"host-header","hostHeaderConfig":{"values":["alb.example.com"]}}]`
	o.Spec = networkingv1.IngressSpec{
		IngressClassName: new("nginx"),
		DefaultBackend:   backend(),
		Rules:            rulesFor("B.example.com.", "", "a.example.com", "B.example.com."),
		TLS: []networkingv1.IngressTLS{
			{Hosts: []string{"z.example.com", "a.example.com"}, SecretName: "cert"}, {}, {Hosts: []string{"b.example.com"}},
		},
	}
	return o
}

func TestIngressWithEverything(t *testing.T) {
	meta := wantMeta("networking.k8s.io", "Ingress")
	meta.HostsSet = meta.Created
	same(t, snapshot.Ingress{
		Meta:  meta,
		Class: "nginx",
		Hosts: []snapshot.HostClaim{
			{Host: "B.example.com.", Source: snapshot.FromRule, Set: meta.Created},
			{Host: "", Source: snapshot.FromRule, Set: meta.Created},
			{Host: "a.example.com", Source: snapshot.FromRule, Set: meta.Created},
			{Host: "B.example.com.", Source: snapshot.FromRule, Set: meta.Created},
			{Host: "alias.example.com", Source: snapshot.FromServerAlias, Set: meta.Created},
			{Host: "dns.example.com", Source: snapshot.FromExternalDNS, Set: meta.Created},
			{Host: "alb.example.com", Source: snapshot.FromALB, Set: meta.Created},
		},
		TLSHosts:          []string{"z.example.com", "a.example.com", "b.example.com"},
		LoadBalancerGroup: "public",
	}, newIngester().Ingress(fullIngress()))
}

func TestIngressWithNothingButAName(t *testing.T) {
	got := newIngester().Ingress(&networkingv1.Ingress{ObjectMeta: named()})
	same(t, snapshot.Ingress{Meta: bareMeta("networking.k8s.io", "Ingress")}, got)
}

func TestIngressDefaultOnly(t *testing.T) {
	for _, c := range []struct {
		name string
		spec networkingv1.IngressSpec
		want bool
	}{
		{"a default backend without rules takes every host", networkingv1.IngressSpec{DefaultBackend: backend()}, true},
		{"a default backend beside rules takes what they leave", networkingv1.IngressSpec{DefaultBackend: backend(), Rules: rulesFor("a.example.com")}, false},
		{"rules alone are no default", networkingv1.IngressSpec{Rules: rulesFor("")}, false},
		{"neither is a default", networkingv1.IngressSpec{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: named(), Spec: c.spec}
			if got := newIngester().Ingress(o).DefaultOnly; got != c.want {
				t.Errorf("default only: %t", got)
			}
		})
	}
}

func TestIngressClassThatIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name       string
		annotation *string
		field      *string
		want       string
	}{
		{name: "neither the annotation nor the field asks for none"},
		{name: "the field asks", field: new("traefik"), want: "traefik"},
		{name: "the annotation asks", annotation: new("nginx"), want: "nginx"},
		{name: "the annotation takes precedence over the field", annotation: new("nginx"), field: new("traefik"), want: "nginx"},
		{name: "an empty annotation leaves it to the field", annotation: new(""), field: new("traefik"), want: "traefik"},
		{name: "an empty field asks for none", field: new("")},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: named(), Spec: networkingv1.IngressSpec{IngressClassName: c.field}}
			if c.annotation != nil {
				o.Annotations = map[string]string{"kubernetes.io/ingress.class": *c.annotation}
			}
			if got := newIngester().Ingress(o).Class; got != c.want {
				t.Errorf("class %q, want %q", got, c.want)
			}
		})
	}
}

func TestIngressClass(t *testing.T) {
	in := newIngester()
	class := func(annotation string) *networkingv1.IngressClass {
		return &networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{
				Name:        "nginx",
				Labels:      map[string]string{"owner": "platform"},
				Annotations: map[string]string{"ingressclass.kubernetes.io/is-default-class": annotation},
			},
			Spec: networkingv1.IngressClassSpec{Controller: "k8s.io/ingress-nginx"},
		}
	}
	want := snapshot.IngressClass{
		Meta: snapshot.Meta{
			Group: "networking.k8s.io", Kind: "IngressClass", Name: "nginx",
			Owner: snapshot.OwnerKey{Value: "platform", Key: "owner"},
		},
		Controller: "k8s.io/ingress-nginx",
	}
	same(t, want, in.IngressClass(class("false")))
	want.Default = true
	same(t, want, in.IngressClass(class("true")))
	same(t, snapshot.IngressClass{Meta: snapshot.Meta{Group: "networking.k8s.io", Kind: "IngressClass", Name: "bare"}},
		in.IngressClass(&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}))
}

package ingest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
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

// The keys of the annotations that name hosts.
const (
	alias      = "nginx.ingress.kubernetes.io/server-alias"
	hostname   = "external-dns.alpha.kubernetes.io/hostname"
	hostsFrom  = "external-dns.alpha.kubernetes.io/ingress-hostname-source"
	conditions = "alb.ingress.kubernetes.io/conditions."
)

// annotationCase is one sentence of what the annotations of an Ingress without
// rules claim.
type annotationCase struct {
	name        string
	annotations map[string]string
	want        []snapshot.HostClaim
	unreadable  []string
}

func (c annotationCase) run(t *testing.T) {
	o := &networkingv1.Ingress{ObjectMeta: named()}
	o.Annotations = c.annotations
	got := newIngester().Ingress(o)
	same(t, c.want, got.Hosts)
	same(t, c.unreadable, got.Unreadable)
}

func TestServerAlias(t *testing.T) {
	for _, c := range []annotationCase{
		{
			name:        "an empty alias claims nothing",
			annotations: map[string]string{alias: ""},
		}, {
			name:        "aliases stand between commas and blanks of every sort",
			annotations: map[string]string{alias: " a.example.com,b.example.com , c.example.com\td.example.com\r\ne.example.com,,"},
			want: claims(snapshot.FromServerAlias,
				"a.example.com", "b.example.com", "c.example.com", "d.example.com", "e.example.com"),
		}, {
			name:        "an alias may be a wildcard",
			annotations: map[string]string{alias: "*.example.com"},
			want:        claims(snapshot.FromServerAlias, "*.example.com"),
		}, {
			name:        "a regular expression cannot be compared, and is told",
			annotations: map[string]string{alias: `a.example.com,~^www\d+\.example\.com$`},
			want:        claims(snapshot.FromServerAlias, "a.example.com"),
			unreadable:  []string{alias + `: ~^www\d+\.example\.com$ is a regular expression`},
		}, {
			name:        "the annotation of another controller claims nothing",
			annotations: map[string]string{"example.com/server-alias": "a.example.com"},
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestExternalDNS(t *testing.T) {
	for _, c := range []annotationCase{
		{
			name:        "the annotation claims each host that it names",
			annotations: map[string]string{hostname: "a.example.com, b.example.com"},
			want:        claims(snapshot.FromExternalDNS, "a.example.com", "b.example.com"),
		}, {
			name:        "it claims as well where only annotations are published",
			annotations: map[string]string{hostname: "a.example.com", hostsFrom: "annotation-only"},
			want:        claims(snapshot.FromExternalDNS, "a.example.com"),
		}, {
			name:        "it claims nothing where only the hosts of the rules are published",
			annotations: map[string]string{hostname: "a.example.com", hostsFrom: "defined-hosts-only"},
		}, {
			name:        "external-dns does not look at the case of that word",
			annotations: map[string]string{hostname: "a.example.com", hostsFrom: "Defined-Hosts-Only"},
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestALBConditions(t *testing.T) {
	for _, c := range []annotationCase{
		{
			name: "each value of each host-header condition is a claim",
			annotations: map[string]string{conditions + "web": `[
				{"field":"host-header","hostHeaderConfig":{"values":["a.example.com","b.example.com"]}},
				{"field":"host-header","hostHeaderConfig":{"values":["c.example.com"]}}]`},
			want: claims(snapshot.FromALB, "a.example.com", "b.example.com", "c.example.com"),
		}, {
			name: "conditions of several services are read by the order of their names",
			annotations: map[string]string{
				conditions + "z": `[{"field":"host-header","hostHeaderConfig":{"values":["z.example.com"]}}]`,
				conditions + "a": `[{"field":"host-header","hostHeaderConfig":{"values":["a.example.com"]}}]`,
			},
			want: claims(snapshot.FromALB, "a.example.com", "z.example.com"),
		}, {
			name: "conditions on other fields claim nothing, even with hosts beside them",
			annotations: map[string]string{conditions + "web": `[
				{"field":"path-pattern","pathPatternConfig":{"values":["/a"]}},
				{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"Host","values":["a.example.com"]}},
				{"field":"source-ip","hostHeaderConfig":{"values":["b.example.com"]}}]`},
		}, {
			name:        "a condition without its values claims nothing",
			annotations: map[string]string{conditions + "web": `[{"field":"host-header"},{"field":"host-header","hostHeaderConfig":{}}]`},
		}, {
			name:        "no conditions claim nothing",
			annotations: map[string]string{conditions + "web": `[]`},
		}, {
			name:        "conditions that do not parse are told",
			annotations: map[string]string{conditions + "web": `[{"field":`},
			unreadable:  []string{conditions + "web: read conditions: unexpected end of JSON input"},
		}, {
			name: "conditions that do not parse do not hide those of another service",
			annotations: map[string]string{
				conditions + "a": ``,
				conditions + "b": `[{"field":"host-header","hostHeaderConfig":{"values":["b.example.com"]}}]`,
			},
			want:       claims(snapshot.FromALB, "b.example.com"),
			unreadable: []string{conditions + "a: read conditions: unexpected end of JSON input"},
		}, {
			name: "regular expressions cannot be compared, and are listed beside the values",
			annotations: map[string]string{conditions + "web": `[{"field":"host-header","hostHeaderConfig":
				{"values":["a.example.com"],"regexValues":["^www[0-9]+\\.example\\.com$"]}}]`},
			want:       claims(snapshot.FromALB, "a.example.com"),
			unreadable: []string{conditions + `web: ^www[0-9]+\.example\.com$ is a regular expression`},
		},
	} {
		t.Run(c.name, c.run)
	}
}

const challenge = "/.well-known/acme-challenge/"

func TestACMESolverLabel(t *testing.T) {
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{
		{"cert-manager's label marks a solver", map[string]string{"acme.cert-manager.io/http01-solver": "true"}, true},
		{"the label with another value marks nothing", map[string]string{"acme.cert-manager.io/http01-solver": "false"}, false},
		{"the label without a value marks nothing", map[string]string{"acme.cert-manager.io/http01-solver": ""}, false},
		{"another label marks nothing", map[string]string{"example.com/http01-solver": "true"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}
			if got := newIngester().Ingress(o).SolverLabel; got != c.want {
				t.Errorf("solver label: %t", got)
			}
		})
	}
}

func TestACMEChallengeOwner(t *testing.T) {
	for _, c := range []struct {
		name string
		refs []metav1.OwnerReference
		want bool
	}{
		{"a Challenge of cert-manager owns it", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io/v1", Kind: "Challenge"}}, true},
		{"a Challenge of any version of cert-manager owns it", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io/v1alpha2", Kind: "Challenge"}}, true},
		{"a Challenge among other owners owns it", []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node"}, {APIVersion: "acme.cert-manager.io/v1", Kind: "Challenge"}}, true},
		{"another kind of cert-manager does not count", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io/v1", Kind: "Order"}}, false},
		{"a Challenge of another group does not count", []metav1.OwnerReference{{APIVersion: "games.example.com/v1", Kind: "Challenge"}}, false},
		{"a Challenge without a group does not count", []metav1.OwnerReference{{APIVersion: "acme.cert-manager.io", Kind: "Challenge"}}, false},
		{"an object without owners is not owned", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.refs}}
			if got := newIngester().Ingress(o).ChallengeOwner; got != c.want {
				t.Errorf("challenge owner: %t", got)
			}
		})
	}
}

// ruleFor is a rule with some paths; without any it has no http section.
func ruleFor(paths ...string) networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: "shop.example.com"}
	for _, path := range paths {
		if rule.HTTP == nil {
			rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: path, Backend: *backend()})
	}
	return rule
}

func TestACMEChallengePaths(t *testing.T) {
	spec := func(rules ...networkingv1.IngressRule) networkingv1.IngressSpec {
		return networkingv1.IngressSpec{Rules: rules}
	}
	withDefault := spec(ruleFor(challenge + "tok"))
	withDefault.DefaultBackend = backend()
	noPaths := spec(networkingv1.IngressRule{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}})
	for _, c := range []struct {
		name string
		spec networkingv1.IngressSpec
		want bool
	}{
		{"one token below the folder is a challenge", spec(ruleFor(challenge + "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0")), true},
		{"a token has every letter of base64url", spec(ruleFor(challenge + "azAZ09-_")), true},
		{"several challenges are challenges", spec(ruleFor(challenge+"a", challenge+"b"), ruleFor(challenge+"c")), true},
		{"the folder itself would take everybody's challenges", spec(ruleFor(challenge)), false},
		{"the folder without its slash is no challenge", spec(ruleFor("/.well-known/acme-challenge")), false},
		{"something below a token is no challenge", spec(ruleFor(challenge + "a/b")), false},
		{"a way out of the folder is no challenge", spec(ruleFor(challenge + "../../admin")), false},
		{"a pattern is no token", spec(ruleFor(challenge + ".*")), false},
		{"an escaped letter is no token", spec(ruleFor(challenge + "a%2Fb")), false},
		{"letters outside ASCII are no token", spec(ruleFor(challenge + "tökén")), false},
		{"a folder of that name elsewhere is no challenge", spec(ruleFor("/x" + challenge + "a")), false},
		{"one other path among challenges spoils it", spec(ruleFor(challenge+"a", "/")), false},
		{"one other rule among challenges spoils it", spec(ruleFor(challenge+"a"), ruleFor("/shop")), false},
		{"an empty path spoils it", spec(ruleFor("")), false},
		{"a rule without http takes every path", spec(ruleFor(challenge+"a"), ruleFor()), false},
		{"a rule without paths takes every path", noPaths, false},
		{"a default backend takes every path", withDefault, false},
		{"without rules there is no challenge", spec(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &networkingv1.Ingress{ObjectMeta: named(), Spec: c.spec}
			if got := newIngester().Ingress(o).ChallengePaths; got != c.want {
				t.Errorf("only challenge paths: %t", got)
			}
		})
	}
}

func TestIngressAddresses(t *testing.T) {
	for _, c := range []struct {
		name   string
		status []networkingv1.IngressLoadBalancerIngress
		want   []string
	}{
		{"no status", nil, nil},
		{"an empty entry", []networkingv1.IngressLoadBalancerIngress{{}}, nil},
		{"addresses in other spellings", []networkingv1.IngressLoadBalancerIngress{
			{IP: " 2001:DB8:0:0::1 "}, {IP: "::ffff:203.0.113.1"}, {IP: "203.0.113.1", Hostname: "LB.example.com."},
		}, []string{"2001:db8::1", "203.0.113.1", "lb.example.com"}},
		{"what is not an address", []networkingv1.IngressLoadBalancerIngress{{IP: "pending"}}, []string{"pending"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := ingest.New(nil).Ingress(&networkingv1.Ingress{
				Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: c.status}},
			})
			if diff := cmp.Diff(c.want, f.Addresses); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIngressOwnLoadBalancer(t *testing.T) {
	const mode, alias = "ingress.cilium.io/loadbalancer-mode", "io.cilium.ingress/loadbalancer-mode"
	for _, c := range []struct {
		annotations map[string]string
		want        bool
	}{
		{nil, false},
		{map[string]string{mode: "dedicated"}, true},
		{map[string]string{mode: "shared"}, false},
		{map[string]string{mode: "Dedicated"}, false},
		{map[string]string{alias: "dedicated"}, true},
		{map[string]string{mode: "shared", alias: "dedicated"}, false},
	} {
		f := ingest.New(nil).Ingress(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}})
		if f.OwnLoadBalancer != c.want {
			t.Errorf("%v: %t, want %t", c.annotations, f.OwnLoadBalancer, c.want)
		}
	}
}

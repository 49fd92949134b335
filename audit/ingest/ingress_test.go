package ingest_test

import (
	"fmt"
	"strings"
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
			{Host: "alb.example.com", Source: snapshot.FromALB, Set: meta.Created},
			{Host: "dns.example.com", Source: snapshot.FromExternalDNS, Set: meta.Created},
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
			got := newIngester().Ingress(o)
			if annotated := c.annotation != nil && *c.annotation != ""; got.Class != c.want || got.ClassAnnotated != annotated {
				t.Errorf("class %q, annotated %t, want %q, annotated %t", got.Class, got.ClassAnnotated, c.want, annotated)
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
	with := class("true")
	with.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: new("elbv2.k8s.aws"), Kind: "IngressClassParams", Name: "shared"}
	want.Parameters = snapshot.Ref{Group: "elbv2.k8s.aws", Kind: "IngressClassParams", Name: "shared"}
	same(t, want, in.IngressClass(with))
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
	expressions []snapshot.HostExpression
	unreadable  []string // the reasons
}

// expressions returns expressions that are spelled as they are.
func expressions(source snapshot.HostSource, texts ...string) (out []snapshot.HostExpression) {
	for _, text := range texts {
		out = append(out, snapshot.NewHostExpression(strings.TrimPrefix(text, "~"), text, source))
	}
	return out
}

// glob returns an expression that has to match the whole host.
func glob(source snapshot.HostSource, text, spelling string) snapshot.HostExpression {
	e := snapshot.NewHostExpression(text, spelling, source)
	e.Whole = true
	return e
}

func (c annotationCase) run(t *testing.T) {
	o := &networkingv1.Ingress{ObjectMeta: named()}
	o.Annotations = c.annotations
	got := newIngester().Ingress(o)
	same(t, c.want, got.Hosts)
	same(t, c.expressions, got.Expressions)
	var reasons []string
	for _, u := range got.Unreadable {
		reasons = append(reasons, u.Reason)
	}
	same(t, c.unreadable, reasons)
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
			name:        "a tilde makes a regular expression",
			annotations: map[string]string{alias: `a.example.com,~^www\d+\.example\.com$ ~b`},
			want:        claims(snapshot.FromServerAlias, "a.example.com"),
			expressions: expressions(snapshot.FromServerAlias, `~^www\d+\.example\.com$`, "~b"),
		}, {
			name:        "a dot at the beginning is a name and the wildcard below it",
			annotations: map[string]string{alias: ".a.example.com"},
			want:        claims(snapshot.FromServerAlias, "a.example.com", "*.a.example.com"),
		}, {
			name:        "an asterisk elsewhere is a glob",
			annotations: map[string]string{alias: "shop.*"},
			expressions: []snapshot.HostExpression{glob(snapshot.FromServerAlias, `shop\..*`, "shop.*")},
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

func TestExternalDNSBelowEachPrefix(t *testing.T) {
	const newer, older = "external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"
	for _, c := range []annotationCase{
		{
			name:        "each prefix claims",
			annotations: map[string]string{newer + "hostname": "a.example.com", older + "hostname": "b.example.com"},
			want:        claims(snapshot.FromExternalDNS, "a.example.com", "b.example.com"),
		}, {
			name:        "another controller excuses the hosts below its own prefix",
			annotations: map[string]string{newer + "hostname": "a.example.com", newer + "controller": "none"},
		}, {
			name:        "so does an empty controller",
			annotations: map[string]string{newer + "hostname": "a.example.com", newer + "controller": ""},
		}, {
			name:        "external-dns itself is dns-controller",
			annotations: map[string]string{newer + "hostname": "a.example.com", newer + "controller": "dns-controller"},
			want:        claims(snapshot.FromExternalDNS, "a.example.com"),
		}, {
			name: "what excuses hosts below one prefix does not excuse those below another",
			annotations: map[string]string{
				newer + "hostname": "a.example.com", older + "controller": "none", older + "ingress-hostname-source": "defined-hosts-only",
				older + "hostname": "b.example.com",
			},
			want: claims(snapshot.FromExternalDNS, "a.example.com"),
		}, {
			name:        "a source of hostnames that external-dns does not know publishes nothing",
			annotations: map[string]string{newer + "hostname": "a.example.com", newer + "ingress-hostname-source": "annotations"},
		}, {
			name:        "external-dns does not read internal-hostname from an Ingress",
			annotations: map[string]string{newer + "internal-hostname": "a.example.com"},
		}, {
			name:        "a prefix that is not configured claims nothing",
			annotations: map[string]string{"dns.example.com/hostname": "a.example.com"},
		},
	} {
		t.Run(c.name, c.run)
	}
	o := &networkingv1.Ingress{ObjectMeta: named()}
	o.Annotations = map[string]string{"dns.example.com/hostname": "a.example.com", newer + "hostname": "b.example.com"}
	same(t, claims(snapshot.FromExternalDNS, "a.example.com"), newIngester().ReadExternalDNS([]string{"dns.example.com/"}).Ingress(o).Hosts)
}

func TestAliasesOfOtherControllers(t *testing.T) {
	for _, c := range []annotationCase{
		{
			name:        "Kong separates hosts with commas",
			annotations: map[string]string{"konghq.com/host-aliases": "a.example.com, *.b.example.com"},
			want:        claims(snapshot.FromKongAliases, "a.example.com", "*.b.example.com"),
		}, {
			name:        "Application Gateway",
			annotations: map[string]string{"appgw.ingress.kubernetes.io/hostname-extension": "a.example.com, b.example.com"},
			want:        claims(snapshot.FromHostnameExtension, "a.example.com", "b.example.com"),
		}, {
			name: "HAProxy Ingress, below its older prefix too",
			annotations: map[string]string{
				"haproxy-ingress.github.io/server-alias": "a.example.com", "ingress.kubernetes.io/server-alias": "b.example.com",
			},
			want: claims(snapshot.FromHAProxyAlias, "a.example.com", "b.example.com"),
		}, {
			name:        "a host that is redirected is claimed",
			annotations: map[string]string{"haproxy-ingress.github.io/redirect-from": "www.example.com"},
			want:        claims(snapshot.FromHAProxyRedirect, "www.example.com"),
		}, {
			name:        "a regular expression",
			annotations: map[string]string{"haproxy-ingress.github.io/server-alias-regex": `^www\.`, "haproxy-ingress.github.io/redirect-from-regex": ""},
			expressions: expressions(snapshot.FromHAProxyAlias, `^www\.`),
		}, {
			name: "Alibaba Cloud spells conditions in its own way",
			annotations: map[string]string{conditions + "web": `[
				{"type":"Host","hostConfig":{"values":["a.example.com"]}},
				{"type":"Path","pathConfig":{"values":["/a"]}}]`},
			want: claims(snapshot.FromALB, "a.example.com"),
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestTooManyExpressions(t *testing.T) {
	o := &networkingv1.Ingress{ObjectMeta: named()}
	o.Annotations = map[string]string{alias: strings.Repeat("~a,", 150)}
	got := newIngester().Ingress(o)
	same(t, []snapshot.UnreadableHosts{{Source: snapshot.FromServerAlias, Reason: alias + ": more than 100 regular expressions", MayClaim: true}}, got.Unreadable)
	same(t, 100, len(got.Expressions))
}

func TestWhatCannotBeAHost(t *testing.T) {
	for _, c := range []annotationCase{
		{
			name:        "a placeholder",
			annotations: map[string]string{alias: "{{ .Values.alias }}"},
			unreadable:  []string{alias + ": not a host: {{ .Values.alias }}"},
		}, {
			name:        "a URL, a port and a path, beside a host",
			annotations: map[string]string{hostname: "https://a.example.com,a.example.com:8080,a.example.com/x,b.example.com"},
			want:        claims(snapshot.FromExternalDNS, "b.example.com"),
			unreadable:  []string{hostname + ": not a host: https://a.example.com, a.example.com:8080, a.example.com/x"},
		}, {
			name:        "a host-header condition with a question mark",
			annotations: map[string]string{conditions + "web": `[{"field":"host-header","hostHeaderConfig":{"values":["a?.example.com"]}}]`},
			expressions: []snapshot.HostExpression{glob(snapshot.FromALB, `a.\.example\.com`, "a?.example.com")},
		},
	} {
		t.Run(c.name, c.run)
	}
	o := &networkingv1.Ingress{ObjectMeta: named(), Spec: networkingv1.IngressSpec{
		Rules: rulesFor("$(HOST)", "a b.example.com", "c.example.com", "$(HOST)", "${HOST}", "<host>"),
	}}
	got := newIngester().Ingress(o)
	same(t, claims(snapshot.FromRule, "c.example.com"), got.Hosts)
	same(t, []snapshot.UnreadableHosts{{Source: snapshot.FromRule, Reason: "spec.rules: not a host: $(HOST), a b.example.com, ${HOST}"}}, got.Unreadable)
}

func TestIngressClassParams(t *testing.T) {
	for _, c := range []struct {
		kind          snapshot.Kind
		version, spec string
		want          snapshot.IngressClassParams
	}{
		{snapshot.AWSIngressClassParams, "v1beta1", "{scheme: internal}", snapshot.IngressClassParams{}},
		{snapshot.AWSIngressClassParams, "v1beta1", "{group: {name: all}}", snapshot.IngressClassParams{Group: "all", Grouped: true}},
		{snapshot.EKSIngressClassParams, "v1", "{group: {name: all}}", snapshot.IngressClassParams{Group: "all", Grouped: true}},
		{snapshot.EKSIngressClassParams, "v1", "{group: {}}", snapshot.IngressClassParams{Grouped: true}},
	} {
		got := take(t, c.kind, fmt.Sprintf("{apiVersion: %s/%s, kind: IngressClassParams, metadata: {name: shared}, spec: %s}", c.kind.Group(), c.version, c.spec))
		c.want.Meta = snapshot.Meta{Group: c.kind.Group(), Kind: "IngressClassParams", Name: "shared"}
		same(t, []snapshot.IngressClassParams{c.want}, got.ClassParams)
		if kind := got.ClassParams[0].Resource(); kind != c.kind {
			t.Errorf("resource %s, want %s", kind, c.kind)
		}
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
			name: "regular expressions beside the values",
			annotations: map[string]string{conditions + "web": `[{"field":"host-header","hostHeaderConfig":
				{"values":["a.example.com"],"regexValues":["^www[0-9]+\\.example\\.com$"]}}]`},
			want:        claims(snapshot.FromALB, "a.example.com"),
			expressions: expressions(snapshot.FromALB, `^www[0-9]+\.example\.com$`),
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

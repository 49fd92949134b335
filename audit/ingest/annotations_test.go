package ingest_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
			name: "regular expressions cannot be compared, and are told beside the values",
			annotations: map[string]string{conditions + "web": `[{"field":"host-header","hostHeaderConfig":
				{"values":["a.example.com"],"regexValues":["^www[0-9]+\\.example\\.com$"]}}]`},
			want:       claims(snapshot.FromALB, "a.example.com"),
			unreadable: []string{conditions + `web: ^www[0-9]+\.example\.com$ is a regular expression`},
		},
	} {
		t.Run(c.name, c.run)
	}
}

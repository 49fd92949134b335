package hostsource_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/hostsource"
)

func TestExternalDNS(t *testing.T) {
	sources := hostsource.ExternalDNS([]string{"external-dns.kubernetes.io/", "dns.example.com/"})
	sorted := slices.IsSortedFunc(sources, func(a, b hostsource.Source) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	if !sorted {
		t.Error("the sources are not sorted by kind")
	}
	route := []objectOf{
		{"a route without annotations", `{"metadata": {"name": "web"}, "spec": {"hostnames": ["web.example.com"]}}`, ""},
		{"a route with a hostname", `{"metadata": {"annotations": {"external-dns.kubernetes.io/hostname": "a.example.com, *.b.example.com"}}}`, "*.b.example.com+ a.example.com"},
		{
			"a route for the hosts of its spec", `{"metadata": {"annotations": {"external-dns.kubernetes.io/hostname": "a.example.com",
			"external-dns.kubernetes.io/gateway-hostname-source": "Defined-Hosts-Only", "dns.example.com/hostname": "b.example.com"}}}`,
			"b.example.com",
		},
		{
			"a route with an unknown source of hostnames", `{"metadata": {"annotations": {"external-dns.kubernetes.io/hostname": "a.example.com",
			"external-dns.kubernetes.io/gateway-hostname-source": "spec"}}}`, "a.example.com",
		},
		{"a route with an internal hostname", `{"metadata": {"annotations": {"external-dns.kubernetes.io/internal-hostname": "a.example.com"}}}`, ""},
	}
	service := []objectOf{
		{"a Service with both hostnames", `{"metadata": {"annotations": {"external-dns.kubernetes.io/hostname": "a.example.com",
			"external-dns.kubernetes.io/internal-hostname": "b.example.com"}}}`, "a.example.com b.example.com"},
		{"a Service below another prefix", `{"metadata": {"annotations": {"dns.example.com/hostname": "a.example.com"}}}`, "a.example.com"},
		{"a Service below a prefix that is not configured", `{"metadata": {"annotations": {"external-dns.alpha.kubernetes.io/hostname": "a.example.com"}}}`, ""},
		{"a Service of another controller", `{"metadata": {"annotations": {"external-dns.kubernetes.io/hostname": "a.example.com",
			"external-dns.kubernetes.io/controller": "none", "dns.example.com/controller": "dns-controller"}}}`, ""},
		{"a Service with a placeholder", `{"metadata": {"annotations": {"dns.example.com/hostname": "{{ .Values.host }}"}}}`, "| {{ .Values.host }}"},
	}
	for _, s := range sources {
		objects := route
		if s.Kind == "services" {
			objects = service
		}
		for _, o := range objects {
			if got := spell(read(t, s, decode(t, o.object))); got != o.want {
				t.Errorf("%s: %s: got %q, want %q", s.Kind, o.says, got, o.want)
			}
		}
	}
}

package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// hostSources is what testdata/good/host-sources.yaml says.
func hostSources(t *testing.T) config.Config {
	yes, no := true, false
	c := config.Default()
	c.HostSources = []config.HostSource{
		{
			Version: "v1", Resource: "services", Kind: "Service",
			Hosts: expression(t, "object.metadata.?annotations[?'external-dns.alpha.kubernetes.io/hostname'].orValue('').split(',')"),
		},
		{
			Group: "example.com", Version: "v1beta1", Resource: "gates", Kind: "Gate",
			Hosts:    expression(t, "// One gate has many doors.\nobject.spec.doors.map(d, d.host)\n"),
			Wildcard: config.OneLabel,
		},
		{Group: "route.openshift.io", Resource: "routes", Enabled: &no},
		{Group: "networking.istio.io", Resource: "virtualservices", Hosts: expression(t, "object.spec.hosts")},
		{Group: "projectcontour.io", Resource: "httpproxies", Wildcard: config.ManyLabels, Enabled: &yes},
	}
	return c
}

func expression(t *testing.T, text string) config.HostExpression {
	t.Helper()
	var e config.HostExpression
	if err := e.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return e
}

// enabled returns the source of a kind that a config enables, or nil.
func enabled(c *config.Config, kind snapshot.Kind) *hostsource.Source {
	sources := c.EnabledHostSources()
	i := slices.IndexFunc(sources, func(s hostsource.Source) bool { return s.Kind == kind })
	if i < 0 {
		return nil
	}
	return &sources[i]
}

func TestEnabledHostSources(t *testing.T) {
	c := hostSources(t)
	var kinds []string
	for _, s := range c.EnabledHostSources() {
		kinds = append(kinds, string(s.Kind))
	}
	want := []string{
		"apisixroutes.apisix.apache.org",
		"dnsendpoints.externaldns.k8s.io",
		"domainmappings.serving.knative.dev",
		"gates.example.com",
		"httpproxies.projectcontour.io",
		"ingressroutes.traefik.containo.us",
		"ingressroutes.traefik.io",
		"ingressroutetcps.traefik.containo.us",
		"ingressroutetcps.traefik.io",
		"mappings.getambassador.io",
		"routegroups.zalando.org",
		"services",
		"tcpingresses.configuration.konghq.com",
		"transportservers.k8s.nginx.org",
		"virtualservers.cis.f5.com",
		"virtualservers.k8s.nginx.org",
		"virtualservices.gateway.solo.io",
		"virtualservices.networking.istio.io",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestUnreadHostSources checks that a source that is off is known until the config mentions
// it, and that what is reported about it turns it on.
func TestUnreadHostSources(t *testing.T) {
	count := func(sources []hostsource.Source, kind snapshot.Kind, unread bool) (n int) {
		for _, s := range sources {
			if s.Kind == kind && s.Unread == unread {
				n++
			}
		}
		return n
	}
	plain := config.Default()
	for _, s := range hostsource.Unread() {
		if count(plain.KnownHostSources(), s.Kind, true) != 1 || enabled(&plain, s.Kind) != nil {
			t.Errorf("%s is not known as unread", s.Kind)
		}
		on, err := config.Parse([]byte(s.Setting()), "audit.yaml", catalog.All())
		if err != nil {
			t.Fatalf("%s: %v", s.Setting(), err)
		}
		if count(on.EnabledHostSources(), s.Kind, false) != 1 || count(on.KnownHostSources(), s.Kind, true) != 0 {
			t.Errorf("%s does not turn it on", s.Setting())
		}
		off, err := config.Parse([]byte(strings.Replace(s.Setting(), "true", "false", 1)), "audit.yaml", catalog.All())
		if err != nil {
			t.Fatal(err)
		}
		if count(off.KnownHostSources(), s.Kind, true) != 0 || enabled(&off, s.Kind) != nil {
			t.Errorf("%s is not off", s.Kind)
		}
	}
	guessed, ok := hostsource.Likely("virtualhosts.example.com", "VirtualHost", "v1")
	if !ok {
		t.Fatal("a VirtualHost is not taken for a kind that carries hosts")
	}
	on, err := config.Parse([]byte(guessed.Setting()), "audit.yaml", catalog.All())
	if err != nil {
		t.Fatalf("%s: %v", guessed.Setting(), err)
	}
	if enabled(&on, guessed.Kind) == nil {
		t.Errorf("%s adds no source", guessed.Setting())
	}
}

func TestHostSourceOfItsOwn(t *testing.T) {
	c := hostSources(t)
	want := hostsource.Source{Kind: "gates.example.com", Object: "Gate", Versions: []string{"v1beta1"}}
	got := enabled(&c, want.Kind)
	if text := got.Hosts.String(); !strings.HasSuffix(text, "object.spec.doors.map(d, d.host)") {
		t.Errorf("its expression is %q", text)
	}
	got.Hosts = hostsource.Expression{}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	if !enabled(&c, "services").Deep {
		t.Error("a wildcard covers one label where nothing is said")
	}
}

func TestHostSourceOverridesBuiltIn(t *testing.T) {
	c, plain := hostSources(t), config.Default()
	kind := snapshot.Kind("virtualservices.networking.istio.io")
	got, ready := enabled(&c, kind), enabled(&plain, kind)
	if got.Hosts.String() != "object.spec.hosts" || len(got.Fields) > 0 || got.BuiltIn {
		t.Errorf("the expression did not replace the built-in one: %+v", got)
	}
	if !slices.Equal(got.Versions, ready.Versions) || got.Object != ready.Object || got.Deep != ready.Deep {
		t.Errorf("what the file leaves out is not from the built-in source: %+v", got)
	}
	kind = "httpproxies.projectcontour.io"
	got, ready = enabled(&c, kind), enabled(&plain, kind)
	if !got.Deep || ready.Deep || !got.Hosts.Equal(ready.Hosts) || len(got.Fields) == 0 {
		t.Errorf("more than the wildcard was changed: %+v", got)
	}
}

// TestExternalDNSSources checks that the sources of external-dns are off until the
// config mentions them, and read its annotations below the prefixes of the config.
func TestExternalDNSSources(t *testing.T) {
	const text = `
hosts: {externalDNSPrefixes: [dns.example.com/]}
hostSources:
  - {group: "", resource: services, enabled: true}
  - {group: gateway.networking.k8s.io, resource: httproutes, enabled: true}
  - {group: gateway.networking.k8s.io, resource: grpcroutes, enabled: false}
`
	c, err := config.Parse([]byte(text), "audit.yaml", catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	// The rule reads routes itself: another expression would replace nothing.
	const own = "hostSources: [{group: gateway.networking.k8s.io, resource: httproutes, hosts: object.spec.hostnames}]"
	const want = "rule one-owner-per-host already reads httproutes.gateway.networking.k8s.io"
	if _, err := config.Parse([]byte(own), "audit.yaml", catalog.All()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	for _, s := range hostsource.ExternalDNS([]string{"dns.example.com/"}) {
		got := enabled(&c, s.Kind)
		if s.Kind != "services" && s.Kind != snapshot.HTTPRoutes {
			if got != nil {
				t.Errorf("%s is on", s.Kind)
			}
			continue
		}
		if diff := cmp.Diff(&s, got); diff != "" {
			t.Errorf("%s (-built-in +enabled):\n%s", s.Kind, diff)
		}
	}
}

func TestDefaultHostSources(t *testing.T) {
	c := config.Default()
	if diff := cmp.Diff(hostsource.BuiltIn(), c.EnabledHostSources()); diff != "" {
		t.Errorf("sources (-built-in +enabled):\n%s", diff)
	}
}

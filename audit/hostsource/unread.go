package hostsource

import (
	"fmt"
	"slices"
	"sync"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Unread returns the sources that are ready but off, sorted by kind: of kinds whose
// objects carry hosts, and which are used rarely, or name hosts that belong to somebody
// else. Where a cluster has objects of them, the report says that they were not read,
// until the config turns the source on or off.
func Unread() []Source { return slices.Clone(unread()) }

// unread compiles the expressions on first use.
var unread = sync.OnceValue(func() []Source {
	source := func(kind snapshot.Kind, object, hosts string, versions ...string) Source {
		return Source{Kind: kind, Object: object, Versions: versions, Hosts: mustCompile(hosts), Deep: true, BuiltIn: true, Unread: true}
	}
	const host = `object.?spec.?host`
	return []Source{
		// Of Tyk.
		source("apidefinitions.tyk.tyk.io", "ApiDefinition", `object.?spec.?domain`, "v1alpha1"),
		// Of Gardener: a name that is published.
		source("dnsentries.dns.gardener.cloud", "DNSEntry", `object.?spec.?dnsName`, "v1alpha1"),
		// Of Emissary: the certificates and the ports of a name. Mappings say who serves it.
		source("hosts.getambassador.io", "Host", `object.?spec.?hostname`, "v3alpha1", "v2"),
		// Of Citrix. Its group is citrix.com.
		source("httproutes.citrix.com", "HTTPRoute", `object.?spec.?hostname`, "v1"),
		// Of Voyager.
		source("ingresses.voyager.appscode.com", "Ingress", `object.?spec.?rules.orValue([]).map(r, r.?host.orValue(''))`, "v1", "v1beta1"),
		// Of Contour, before HTTPProxy.
		source("ingressroutes.contour.heptio.com", "IngressRoute", `object.?spec.?virtualhost.?fqdn`, "v1beta1"),
		// Of Kong's operator, which configures gateways outside of the cluster as well.
		source("kongroutes.configuration.konghq.com", "KongRoute", `object.?spec.?hosts.orValue([]) + object.?spec.?snis.orValue([])`, "v1alpha1"),
		// Of Emissary: the name in the TLS handshake.
		source("tcpmappings.getambassador.io", "TCPMapping", host, "v3alpha1", "v2"),
		// Of F5.
		source("transportservers.cis.f5.com", "TransportServer", host, "v1"),
		// Of an operator of Cloudflare's tunnels. Its fields are beside metadata, not below spec.
		source("tunnelbindings.networking.cfargotunnel.com", "TunnelBinding", `object.?subjects.orValue([]).map(s, s.?spec.?fqdn.orValue(''))`, "v1alpha1", "v1alpha2"),
	}
})

// Likely returns a source without an expression for a kind that is not known, if its name
// is one that proxies give to kinds that carry hosts. Ignoring such a kind would make a
// host look as if it had one owner.
func Likely(kind snapshot.Kind, object, version string) (Source, bool) {
	s := Source{Kind: kind, Object: object, Versions: []string{version}, Unread: true}
	switch object {
	case "GRPCRoute", "HTTPProxy", "HTTPRoute", "Ingress", "IngressRoute", "IngressRouteTCP", "RouteGroup", "TCPIngress",
		"TLSRoute", "VirtualHost", "VirtualServer", "VirtualService":
	default:
		return s, false
	}
	switch kind.Group() {
	// Read by package ingest.
	case "networking.k8s.io", "extensions", "gateway.networking.k8s.io":
		return s, false
	// What Knative makes of its own objects, and OpenShift's settings of its router.
	case "networking.internal.knative.dev", "config.openshift.io":
		return s, false
	// Names inside a mesh.
	case "appmesh.k8s.aws":
		return s, false
	}
	ready := func(r Source) bool { return r.Kind.Group() == kind.Group() && r.Object == object }
	return s, !slices.ContainsFunc(builtIn(), ready) && !slices.ContainsFunc(unread(), ready)
}

// Setting returns what makes objects of the kind count, as an entry of hostSources in the
// config.
func (s *Source) Setting() string {
	if s.Hosts.IsZero() {
		return fmt.Sprintf("hostSources: [{group: %q, version: %s, resource: %s, kind: %s, hosts: \"object.?spec.?host\"}]",
			s.Kind.Group(), s.Versions[0], s.Kind.Resource(), s.Object)
	}
	return fmt.Sprintf("hostSources: [{group: %q, resource: %s, enabled: true}]", s.Kind.Group(), s.Kind.Resource())
}

package hostsource

import (
	"slices"
	"sync"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// BuiltIn returns the sources that need no configuration, sorted by kind.
func BuiltIn() []Source { return slices.Clone(builtIn()) }

// builtIn compiles the expressions on first use.
var builtIn = sync.OnceValue(func() []Source {
	sources := []Source{
		{
			Kind: "apisixroutes.apisix.apache.org", Object: "ApisixRoute",
			Versions: []string{"v2", "v2beta3", "v2beta2", "v2beta1", "v1"}, Hosts: mustCompile(apisixHosts),
			// A host is compared from its end, so a wildcard covers any number of labels.
			Fields: []string{"spec.http", "spec.rules", "spec.stream"}, Deep: true,
		},
		{
			Kind: "dnsendpoints.externaldns.k8s.io", Object: "DNSEndpoint",
			Versions: []string{"v1alpha1"}, Hosts: mustCompile(dnsEndpointHosts),
			Fields: []string{"spec.endpoints"}, Deep: true,
		},
		{
			Kind: "domainmappings.serving.knative.dev", Object: "DomainMapping",
			Versions: []string{"v1beta1", "v1alpha1"}, Hosts: mustCompile(knativeHosts),
			Fields: []string{"metadata.name"},
		},
		{
			Kind: "httpproxies.projectcontour.io", Object: "HTTPProxy",
			Versions: []string{"v1"}, Hosts: mustCompile(contourHosts),
			Fields: []string{"spec.virtualhost"},
		},
		traefik("ingressroutes", "IngressRoute", "traefik.containo.us", HTTPEntryPoints),
		traefik("ingressroutes", "IngressRoute", "traefik.io", HTTPEntryPoints),
		traefik("ingressroutetcps", "IngressRouteTCP", "traefik.containo.us", TCPEntryPoints),
		traefik("ingressroutetcps", "IngressRouteTCP", "traefik.io", TCPEntryPoints),
		{
			Kind: "mappings.getambassador.io", Object: "Mapping",
			Versions: []string{"v3alpha1", "v2", "v1"}, Hosts: mustCompile(emissaryHosts),
			Fields: []string{"spec.headers", "spec.host", "spec.host_regex", "spec.hostname", "spec.regex_headers"}, Deep: true,
		},
		{
			Kind: "routegroups.zalando.org", Object: "RouteGroup",
			Versions: []string{"v1"}, Hosts: mustCompile(skipperHosts),
			Fields: []string{"spec.hosts", "spec.routes"},
		},
		{
			Kind: "routes.route.openshift.io", Object: "Route",
			Versions: []string{"v1"}, Hosts: mustCompile(openshiftHosts),
			Fields: []string{"spec.host", "spec.subdomain", "spec.wildcardPolicy"},
			Copies: true,
		},
		{
			Kind: "tcpingresses.configuration.konghq.com", Object: "TCPIngress",
			Versions: []string{"v1beta1"}, Hosts: mustCompile(kongTCPHosts),
			Fields: []string{"spec.rules"}, Deep: true,
		},
		{
			Kind: "transportservers.k8s.nginx.org", Object: "TransportServer",
			Versions: []string{"v1", "v1alpha1"}, Hosts: mustCompile(nginxPassthroughHosts),
			Fields: []string{"spec.host", "spec.listener"}, Deep: true,
		},
		{
			Kind: "virtualservers.cis.f5.com", Object: "VirtualServer",
			Versions: []string{"v1"}, Hosts: mustCompile(f5Hosts),
			Fields: []string{"spec.host", "spec.hostAliases"}, Deep: true,
		},
		{
			Kind: "virtualservers.k8s.nginx.org", Object: "VirtualServer",
			Versions: []string{"v1"}, Hosts: mustCompile(nginxHosts),
			// By nginx's server_name *.example.com matches www.eu.example.com.
			Fields: []string{"spec.host"}, Deep: true,
		},
		{
			Kind: "virtualservices.gateway.solo.io", Object: "VirtualService",
			Versions: []string{"v1"}, Hosts: mustCompile(glooHosts),
			// By Envoy's domains *.example.com matches www.eu.example.com.
			Fields: []string{"spec.virtualHost"}, Deep: true,
		},
		{
			Kind: "virtualservices.networking.istio.io", Object: "VirtualService",
			Versions: []string{"v1", "v1beta1", "v1alpha3"}, Hosts: mustCompile(istioHosts),
			Fields: []string{"spec.gateways", "spec.hosts"},
			// By Istio's API *.com matches bar.example.com.
			Deep: true, Proxies: IstioGateways,
		},
	}
	for i := range sources {
		sources[i].BuiltIn = true
	}
	return sources
})

// traefik returns the source of a Traefik kind, which moved from one group to
// another. The two groups do not share objects.
func traefik(resource, object, group string, proxies Proxies) Source {
	return Source{
		Kind: snapshot.KindOf(group, resource), Object: object,
		Versions: []string{"v1alpha1"}, Hosts: mustCompile(traefikRoutes),
		Fields: []string{"spec.routes"}, Proxies: proxies,
	}
}

// istioHosts: a VirtualService claims its hosts if it is bound to a gateway. One
// without gateways, or only with mesh, the word for all sidecars, configures how
// clients inside the mesh reach a host, which may be owned by another team.
//
// The host * claims what the routes take, see istioBindings.
//
// A host without a dot is the short name of a Service in the namespace of the
// VirtualService, so no object in another namespace can claim it.
const istioHosts = `object.?spec.?gateways.orValue([]).exists(g, g != 'mesh')
  ? object.?spec.?hosts.orValue([]).filter(h, h.contains('.'))
  : []`

// nginxHosts: the host of a VirtualServer has to be unique among all Ingresses and
// VirtualServers of NGINX Ingress Controller. A VirtualServerRoute repeats the host of
// the VirtualServer that refers to it, and claims nothing.
const nginxHosts = `object.?spec.?host`

// nginxPassthroughHosts: so has the host of a TransportServer on the listener for TLS
// passthrough. On any other listener it is not compared with theirs.
const nginxPassthroughHosts = `object.?spec.?listener.?protocol.orValue('') == 'TLS_PASSTHROUGH' ? object.?spec.?host : optional.none()`

// traefikRoutes: an IngressRoute or IngressRouteTCP claims the hosts in the rules of
// its routes.
const traefikRoutes = `object.?spec.?routes.orValue([]).map(r, traefikHosts(r.?match.orValue(''))).flatten()`

// contourHosts: an HTTPProxy with a virtual host is a root and claims its name.
// Others are included by a root and claim nothing.
const contourHosts = `object.?spec.?virtualhost.?fqdn`

// knativeHosts: the name of a DomainMapping is the host.
const knativeHosts = `object.?metadata.?name`

// apisixHosts: a route of an ApisixRoute claims the hosts it matches: in v1 that of each
// rule. One for streams may match a host of the TLS handshake. A route without hosts is
// for every host, at a proxy that the object does not name, unless a condition on the
// header Host says which.
const apisixHosts = `object.?spec.?http.orValue([]).map(r, r.?match.?exprs.orValue([])
.filter(e, e.?subject.?scope.orValue('') == 'Header' && e.?subject.?name.orValue('').lowerAscii() == 'host')
.map(e, e.?op.orValue('') == 'In' ? e.?set.orValue([]) :
  {'Equal': [''], 'RegexMatch': ['~'], 'RegexMatchCaseInsensitive': ['~']}[?e.?op.orValue('')].orValue([]).map(p, p + e.?value.orValue('')))).flatten(2) +
object.?spec.?http.orValue([]).map(r, r.?match.?hosts.orValue([]).size() + r.?match.?exprs.orValue([]).size() == 0 ? ['*'] : r.?match.?hosts.orValue([])).flatten() +
object.?spec.?stream.orValue([]).map(r, r.?match.?host.orValue('')) +
object.?spec.?rules.orValue([]).map(r, r.?host.orValue(''))`

// dnsEndpointHosts: external-dns publishes the names of a DNSEndpoint, which then lead to
// its targets. Records that lead nowhere, such as TXT, claim nothing, nor does a
// delegation to other name servers (NS), which the owner of a zone makes for others.
const dnsEndpointHosts = `object.?spec.?endpoints.orValue([])
.filter(e, e.?recordType.orValue('A') in ['A', 'AAAA', 'CNAME', ''])
.map(e, e.?dnsName.orValue(''))`

// emissaryHosts: a Mapping claims its hostname, or host, the older field. A host that is
// a regular expression has to match as a whole. A header :authority, or
// Host, is the same condition in another place. The hostname * is for every Host of the
// installation.
//
// Hosts, which configure the certificates of the names that Mappings of other owners
// have, claim nothing.
const emissaryHosts = `[object.?spec.?hostname.orValue('')] +
(object.?spec.?host_regex.orValue(false) == true
  ? [object.?spec.?host.orValue('') != '' ? '~^(' + object.spec.host + ')$' : '']
  : [object.?spec.?host.orValue('')]) +
object.?spec.?headers.orValue({}).transformList(k, v, k.lowerAscii() in [':authority', 'host'] && type(v) == string, v) +
object.?spec.?regex_headers.orValue({}).transformList(k, v, k.lowerAscii() in [':authority', 'host'] && type(v) == string, '~^(' + v + ')$') +
(object.?spec.?hostname.orValue('') + object.?spec.?host.orValue('') == '' && object.?spec.?prefix.orValue('') != '' &&
  object.?spec.?headers.orValue({}).size() + object.?spec.?regex_headers.orValue({}).size() == 0 ? ['*'] : [])`

// skipperHosts: a RouteGroup claims its hosts. One without hosts is for every host, unless
// predicates of its routes name some: Host by a regular expression, HostAny by their names.
const skipperHosts = `object.?spec.?hosts.orValue([]).size() > 0 ? object.spec.hosts :
object.?spec.?routes.orValue([]).map(r, r.?predicates.orValue([]).map(p,
  regex.extractAll(p, '\\bHost\\s*[(]\\s*["/](.*?)["/]\\s*[)]').map(h, '~' + h) +
  regex.extractAll(p, '\\bHostAny\\s*[(]([^)]*)[)]').map(l, regex.extractAll(l, '"([^"]*)"')).flatten()
)).flatten(2) + object.?spec.?routes.orValue([]).filter(r, !r.?predicates.orValue([]).exists(p, p.contains('Host'))).map(r, '*')`

// kongTCPHosts: a rule of a TCPIngress claims the host of the TLS handshake. Without one
// it takes a port.
const kongTCPHosts = `object.?spec.?rules.orValue([]).map(r, r.?host.orValue(''))`

// f5Hosts: a VirtualServer of F5 claims its host and the aliases. VirtualServers with one
// host and different paths are merged if their address is the same.
const f5Hosts = `[object.?spec.?host.orValue('')] + object.?spec.?hostAliases.orValue([])`

// glooHosts: a VirtualService of Gloo claims the domains of its virtual host. A domain is
// unique in a Gateway: Gloo rejects both VirtualServices that have it.
const glooHosts = `object.?spec.?virtualHost.?domains.orValue([])`

// mustCompile is for the expressions above, which are covered by tests.
func mustCompile(text string) Expression {
	e, err := Compile(text)
	if err != nil {
		panic("built-in expression " + err.Error() + ": " + text)
	}
	return e
}

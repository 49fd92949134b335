package hostsource

import (
	"slices"
	"sync"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ReadyMade returns the sources that need no config, sorted by kind.
func BuiltIn() []Source { return slices.Clone(builtIn()) }

// readyMade compiles the expressions when they are first asked for.
var builtIn = sync.OnceValue(func() []Source {
	sources := []Source{
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
		traefik("ingressroutes", "IngressRoute", "traefik.containo.us"),
		traefik("ingressroutes", "IngressRoute", "traefik.io"),
		traefik("ingressroutetcps", "IngressRouteTCP", "traefik.containo.us"),
		traefik("ingressroutetcps", "IngressRouteTCP", "traefik.io"),
		{
			Kind: "routes.route.openshift.io", Object: "Route",
			Versions: []string{"v1"}, Hosts: mustCompile(openshiftHosts),
			Fields: []string{"spec.host", "spec.subdomain", "spec.wildcardPolicy"},
		},
		{
			Kind: "virtualservices.networking.istio.io", Object: "VirtualService",
			Versions: []string{"v1", "v1beta1", "v1alpha3"}, Hosts: mustCompile(istioHosts),
			Fields: []string{"spec.gateways", "spec.hosts"},
			// By Istio's API *.com matches bar.example.com.
			Deep: true,
		},
	}
	for i := range sources {
		sources[i].BuiltIn = true
	}
	return sources
})

// traefik returns the source of one of Traefik's kinds, which moved from one
// group to another. Their objects are not the same.
func traefik(resource, object, group string) Source {
	return Source{
		Kind: snapshot.KindOf(group, resource), Object: object,
		Versions: []string{"v1alpha1"}, Hosts: mustCompile(traefikRoutes),
		Fields: []string{"spec.routes"},
	}
}

// openshiftHosts: what a Route claims is spec.host, and with the wildcard policy
// Subdomain every host beside it, which is one label. A Route that asks for a
// subdomain of the router's instead has its host in the status alone. Whether a
// router admitted it does not matter: one that was refused because the host is
// taken is the conflict.
//
// Two sorts of Routes repeat what another object claims, or must not claim. The
// first is made of an Ingress that solves an ACME challenge, and copies its
// label: it has the label, an Ingress as its owner, and one token below the folder
// of challenges as its path. The second are those that OpenShift Serverless keeps
// in its own namespace, where no tenant writes, for objects in other ones.
const openshiftHosts = `object.?metadata.?labels[?'acme.cert-manager.io/http01-solver'].orValue('') == 'true' &&
object.?metadata.?ownerReferences.orValue([]).exists(r, r.?kind.orValue('') == 'Ingress') &&
object.?spec.?path.orValue('').matches('^/[.]well-known/acme-challenge/[A-Za-z0-9_-]+$') ||
object.?metadata.?namespace.orValue('') == 'knative-serving-ingress' &&
object.?metadata.?labels[?'serving.knative.openshift.io/ingressNamespace'].orValue('') != ''
  ? [] :
object.?spec.?host.orValue('') == ''
  ? object.?status.?ingress.orValue([]).map(i, i.?host.orValue('')) :
object.spec.?wildcardPolicy.orValue('') == 'Subdomain'
  ? ['*.' + object.spec.host.substring(object.spec.host.indexOf('.') + 1)]
  : [object.spec.host]`

// istioHosts: a VirtualService claims its hosts if it is for a gateway. One that
// names none, or only mesh, the word for all sidecars, says how clients inside
// the mesh reach a host, be it their own or somebody else's.
//
// A host without a dot is the short name of a Service in the namespace of the
// VirtualService, so no object elsewhere can ask for the same.
const istioHosts = `object.?spec.?gateways.orValue([]).exists(g, g != 'mesh')
  ? object.?spec.?hosts.orValue([]).filter(h, h.contains('.'))
  : []`

// traefikRoutes: what an IngressRoute or an IngressRouteTCP claims stands in the
// rules of its routes.
const traefikRoutes = `object.?spec.?routes.orValue([]).map(r, traefikHosts(r.?match.orValue(''))).flatten()`

// contourHosts: an HTTPProxy with a virtual host is a root and claims its name.
// One without is included by others and claims nothing.
const contourHosts = `object.?spec.?virtualhost.?fqdn`

// knativeHosts: the name of a DomainMapping is the host.
const knativeHosts = `object.?metadata.?name`

// mustCompile is for the expressions above, which are as they were tested.
func mustCompile(text string) Expression {
	e, err := Compile(text)
	if err != nil {
		panic("ready-made expression " + err.Error() + ": " + text)
	}
	return e
}

package redteam

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// claim is a way to be served at a host.
type claim struct {
	name string
	// objects returns what claims the host, the object that names it first.
	objects func(r *rand.Rand, ns, name, host string) []object
	// over limits the theft to hosts that are served in some way; nil is no limit.
	over func(h held) bool
	// takes is the subject of the theft if that is every host of a proxy.
	takes string
}

// ofTraefik reports whether a host is served by Traefik, by a rule for it.
func ofTraefik(h held) bool { return h.by == "IngressRoute" }

// simple returns a claim that is one object, described by a text with the namespace, the
// name and the host.
func simple(name, format string) claim {
	return claim{name: name, objects: func(_ *rand.Rand, ns, called, host string) []object {
		return []object{parse(format, ns, called, host)}
	}}
}

// claims are the ways that the program reads.
func claims() []claim {
	ingress := func(class string) func(*rand.Rand, string, string, string) []object {
		return func(_ *rand.Rand, ns, name, host string) []object { return []object{ingressOf(ns, name, class, host)} }
	}
	parents := fmt.Sprintf("parentRefs: [{name: edge, namespace: %s}]", platform)
	return []claim{
		{name: "Ingress of nginx", objects: ingress("nginx")},
		{name: "Ingress of Traefik", objects: ingress("traefik")},
		{name: "Ingress of another controller", objects: ingress("other")},
		{name: "Ingress without a class", objects: ingress("")},
		simple("HTTPRoute", "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: %[1]s, name: %[2]s}, spec: {"+parents+", hostnames: [%[3]s], rules: [{backendRefs: [{name: web, port: 80}]}]}}"),
		simple("GRPCRoute", "{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {namespace: %[1]s, name: %[2]s}, spec: {"+parents+", hostnames: [%[3]s], rules: [{backendRefs: [{name: web, port: 80}]}]}}"),
		simple("TLSRoute", "{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {namespace: %[1]s, name: %[2]s}, spec: {"+parents+", hostnames: [%[3]s], rules: [{backendRefs: [{name: web, port: 443}]}]}}"),
		simple("VirtualService of Istio", "{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {namespace: %[1]s, name: %[2]s}, spec: {hosts: [%[3]s], gateways: ["+platform+"/public], http: [{route: [{destination: {host: web}}]}]}}"),
		{name: "IngressRoute", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{ingressRoute(ns, name, "Host(`"+host+"`)")}
		}},
		simple("IngressRouteTCP", "{apiVersion: traefik.io/v1alpha1, kind: IngressRouteTCP, metadata: {namespace: %[1]s, name: %[2]s}, spec: {routes: [{match: 'HostSNI(`%[3]s`)', services: [{name: web, port: 443}]}], tls: {passthrough: true}}}"),
		simple("HTTPProxy", "{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {namespace: %[1]s, name: %[2]s}, spec: {virtualhost: {fqdn: %[3]s}, routes: [{services: [{name: web, port: 80}]}]}}"),
		simple("DomainMapping", "{apiVersion: serving.knative.dev/v1beta1, kind: DomainMapping, metadata: {namespace: %[1]s, name: %[3]s, annotations: {was: %[2]s}}, spec: {ref: {kind: Service, name: web, apiVersion: serving.knative.dev/v1}}}"),
		simple("Route of OpenShift", "{apiVersion: route.openshift.io/v1, kind: Route, metadata: {namespace: %[1]s, name: %[2]s}, spec: {host: %[3]s, to: {kind: Service, name: web}}}"),
		simple("VirtualServer of NGINX", "{apiVersion: k8s.nginx.org/v1, kind: VirtualServer, metadata: {namespace: %[1]s, name: %[2]s}, spec: {host: %[3]s, routes: [{path: /, action: {pass: web}}]}}"),
		simple("TransportServer of NGINX", "{apiVersion: k8s.nginx.org/v1, kind: TransportServer, metadata: {namespace: %[1]s, name: %[2]s}, spec: {host: %[3]s, listener: {name: tls-passthrough, protocol: TLS_PASSTHROUGH}, action: {pass: web}}}"),
		simple("Mapping", "{apiVersion: getambassador.io/v3alpha1, kind: Mapping, metadata: {namespace: %[1]s, name: %[2]s}, spec: {hostname: %[3]s, prefix: /, service: web}}"),
		simple("Mapping by a header", "{apiVersion: getambassador.io/v3alpha1, kind: Mapping, metadata: {namespace: %[1]s, name: %[2]s}, spec: {hostname: '*', headers: {':authority': %[3]s}, prefix: /, service: web}}"),
		simple("ApisixRoute", "{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {namespace: %[1]s, name: %[2]s}, spec: {http: [{name: web, match: {hosts: [%[3]s], paths: [/*]}, backends: [{serviceName: web, servicePort: 80}]}]}}"),
		simple("RouteGroup", "{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {namespace: %[1]s, name: %[2]s}, spec: {hosts: [%[3]s], routes: [{pathSubtree: /}]}}"),
		simple("DNSEndpoint", "{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {namespace: %[1]s, name: %[2]s}, spec: {endpoints: [{dnsName: %[3]s, recordType: CNAME, targets: [elsewhere.example.net]}]}}"),
		simple("TCPIngress", "{apiVersion: configuration.konghq.com/v1beta1, kind: TCPIngress, metadata: {namespace: %[1]s, name: %[2]s}, spec: {rules: [{host: %[3]s, port: 9443, backend: {serviceName: web, servicePort: 80}}]}}"),
		simple("VirtualServer of F5", "{apiVersion: cis.f5.com/v1, kind: VirtualServer, metadata: {namespace: %[1]s, name: %[2]s}, spec: {host: %[3]s}}"),
		simple("VirtualService of Gloo", "{apiVersion: gateway.solo.io/v1, kind: VirtualService, metadata: {namespace: %[1]s, name: %[2]s}, spec: {virtualHost: {domains: [%[3]s], routes: []}}}"),
	}
}

// thefts are the ways to take a host that only an attacker would use, in addition to claims.
func thefts() []claim {
	decoy := "decoy.mallory.example"
	annotated := func(name, class, key string, value func(host string) string) claim {
		return claim{name: name, objects: func(_ *rand.Rand, ns, name, host string) []object {
			o := ingressOf(ns, name, class, decoy)
			o.annotate(key, value(host))
			return []object{o}
		}}
	}
	same := func(host string) string { return host }
	return append(claims(),
		annotated("alias", "nginx", "nginx.ingress.kubernetes.io/server-alias", same),
		annotated("alias in capitals", "nginx", "nginx.ingress.kubernetes.io/server-alias", func(host string) string { return decoy + ", " + strings.ToUpper(host) }),
		annotated("alias as an expression", "nginx", "nginx.ingress.kubernetes.io/server-alias", func(host string) string { return "~^" + strings.ReplaceAll(host, ".", `\.`) + "$" }),
		annotated("alias as one of two names", "nginx", "nginx.ingress.kubernetes.io/server-alias", func(host string) string { return "~^(" + strings.ReplaceAll(host, ".", "[.]") + "|nobody[.]example)$" }),
		annotated("alias of HAProxy", "haproxy", "haproxy-ingress.github.io/server-alias", same),
		annotated("redirect of HAProxy", "haproxy", "haproxy-ingress.github.io/redirect-from", same),
		annotated("alias of Kong", "kong", "konghq.com/host-aliases", same),
		annotated("name of external-dns", "other", "external-dns.alpha.kubernetes.io/hostname", same),
		claim{name: "HTTPRoute at a listener of its own", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{
				parse("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: %s, name: %s}, spec: {parentRefs: [{name: own}], rules: [{backendRefs: [{name: web, port: 80}]}]}}", ns, name),
				parse("{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {namespace: %s, name: own}, spec: {gatewayClassName: shared, listeners: [{name: http, port: 80, protocol: HTTP, hostname: %s}]}}", ns, host),
			}
		}},
		claim{name: "ListenerSet", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{parse("{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {namespace: %s, name: %s}, spec: {parentRef: {name: edge, namespace: %s}, listeners: [{name: http, port: 80, protocol: HTTP, hostname: %s}]}}", ns, name, platform, host)}
		}},
		claim{name: "IngressRoute with a wide expression", over: ofTraefik, objects: func(_ *rand.Rand, ns, name, _ string) []object {
			return []object{ingressRoute(ns, name, "HostRegexp(`^[a-z0-9-]+([.][a-z0-9-]+)+$`) && PathPrefix(`/`)")}
		}},
		claim{name: "IngressRoute for every host that goes first", over: ofTraefik, objects: func(_ *rand.Rand, ns, name, _ string) []object {
			o := ingressRoute(ns, name, "PathPrefix(`/`)")
			o.spec()["routes"].([]any)[0].(map[string]any)["priority"] = 100000
			return []object{o}
		}},
		claim{name: "Ingress for every host that goes first in Traefik", over: ofTraefik, objects: func(_ *rand.Rand, ns, name, _ string) []object {
			o := parse("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: %s, name: %s}, spec: {ingressClassName: traefik, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}", ns, name)
			o.annotate("traefik.ingress.kubernetes.io/router.priority", "100000")
			return []object{o}
		}},
		claim{name: "Ingress for every host of its class", takes: "* (class other)", objects: func(_ *rand.Rand, ns, name, _ string) []object {
			return []object{everyHost(ns, name)}
		}},
		claim{name: "Ingress with a default backend", takes: "* (class other)", objects: func(_ *rand.Rand, ns, name, _ string) []object {
			return []object{parse("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: %s, name: %s}, spec: {ingressClassName: other, defaultBackend: {service: {name: web, port: {number: 80}}}}}", ns, name)}
		}},
		claim{name: "HTTPRoute for every host of its Gateway", takes: "* (gateway " + platform + "/edge)", objects: func(_ *rand.Rand, ns, name, _ string) []object {
			return []object{everyRoute(ns, name)}
		}},
		claim{name: "HTTPProxy in Unicode", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{parse("{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {namespace: %s, name: %s}, spec: {virtualhost: {fqdn: %s}}}", ns, name, strings.ReplaceAll(host, "xn--mnchen-3ya", "MÜNCHEN"))}
		}},
		claim{name: "IngressRoute of the older group", objects: func(_ *rand.Rand, ns, name, host string) []object {
			o := ingressRoute(ns, name, "HostHeader(`nobody.example`, `"+host+"`)")
			o["apiVersion"] = "traefik.containo.us/v1alpha1"
			return []object{o}
		}},
		claim{name: "IngressRoute with a short expression", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{ingressRoute(ns, name, "HostRegexp(`^"+strings.ReplaceAll(host, ".", `\.`)+"$`)")}
		}},
		claim{name: "IngressRoute in capitals", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{ingressRoute(ns, name, "Host(`"+strings.ToUpper(host)+"`) && PathPrefix(`/`)")}
		}},
		claim{name: "Mapping by an expression", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{parse("{apiVersion: getambassador.io/v2, kind: Mapping, metadata: {namespace: %s, name: %s}, spec: {host: '%s', host_regex: true, prefix: /, service: web}}", ns, name, strings.ReplaceAll(host, ".", "[.]"))}
		}},
		claim{name: "Mapping by an expression on a header", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{parse("{apiVersion: getambassador.io/v3alpha1, kind: Mapping, metadata: {namespace: %s, name: %s}, spec: {hostname: '*', regex_headers: {':authority': '%s'}, prefix: /, service: web}}", ns, name, strings.ReplaceAll(host, ".", "[.]"))}
		}},
		simple("ApisixRoute by a condition", "{apiVersion: apisix.apache.org/v2, kind: ApisixRoute, metadata: {namespace: %[1]s, name: %[2]s}, spec: {http: [{name: web, match: {paths: [/*], exprs: [{subject: {scope: Header, name: Host}, op: In, set: [%[3]s]}]}, backends: [{serviceName: web, servicePort: 80}]}]}}"),
		simple("RouteGroup by a predicate", "{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {namespace: %[1]s, name: %[2]s}, spec: {routes: [{pathSubtree: /, predicates: ['HostAny(\"%[3]s\")']}]}}"),
		claim{name: "HTTPProxy in capitals", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{parse("{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {namespace: %s, name: %s}, spec: {virtualhost: {fqdn: %s}}}", ns, name, strings.ToUpper(host))}
		}},
		claim{name: "Route of OpenShift with a dot at the end", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{parse("{apiVersion: route.openshift.io/v1, kind: Route, metadata: {namespace: %s, name: %s}, spec: {host: %s.}}", ns, name, host)}
		}},
		claim{name: "VirtualService of Istio at a gateway of its own", objects: func(_ *rand.Rand, ns, name, host string) []object {
			return []object{parse("{apiVersion: networking.istio.io/v1beta1, kind: VirtualService, metadata: {namespace: %s, name: %s}, spec: {hosts: [%s], gateways: [mesh, missing]}}", ns, name, host)}
		}},
	)
}

func ingressOf(ns, name, class, host string) object {
	o := parse("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: %s, name: %s}, spec: {rules: [{host: '%s', http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}", ns, name, host)
	if class != "" {
		o.spec()["ingressClassName"] = class
	}
	return o
}

// everyHost returns an Ingress that takes every host of the class other.
func everyHost(ns, name string) object {
	return parse("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: %s, name: %s}, spec: {ingressClassName: other, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}", ns, name)
}

// everyRoute returns a route that takes every host of the Gateway.
func everyRoute(ns, name string) object {
	return parse("{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: %s, name: %s}, spec: {parentRefs: [{name: edge, namespace: %s, sectionName: http}], rules: [{backendRefs: [{name: web, port: 80}]}]}}", ns, name, platform)
}

func ingressRoute(ns, name, match string) object {
	return parse("{apiVersion: traefik.io/v1alpha1, kind: IngressRoute, metadata: {namespace: %s, name: %s}, spec: {entryPoints: [web], routes: [{kind: Rule, match: '%s', services: [{name: web, port: 80}]}]}}", ns, name, match)
}

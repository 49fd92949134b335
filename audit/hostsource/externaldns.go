package hostsource

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ExternalDNSPrefixes returns the prefixes below which external-dns may read its
// annotations: its default since v0.22, and the one before.
func ExternalDNSPrefixes() []string {
	return []string{"external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"}
}

// ExternalDNS returns the built-in sources that are off until the config mentions
// them, sorted by kind: the hosts that external-dns publishes for Services and for
// routes of the Gateway API, in annotations below the prefixes. They are off because
// external-dns publishes them only if it is installed with that source, and because a
// record for a Service is often the one that an Ingress is meant to have.
//
// Those of an Ingress are always read, by package ingest. Which kinds and annotations
// there are follows docs/annotations/annotations.md, source/service.go and
// source/gateway.go of external-dns.
func ExternalDNS(prefixes []string) []Source {
	if slices.Equal(prefixes, ExternalDNSPrefixes()) {
		return slices.Clone(defaultExternalDNS())
	}
	return externalDNS(prefixes)
}

// defaultExternalDNS compiles the expressions for the default prefixes on first use.
var defaultExternalDNS = sync.OnceValue(func() []Source { return externalDNS(ExternalDNSPrefixes()) })

func externalDNS(prefixes []string) []Source {
	service := mustCompile(externalDNSHosts(prefixes, "['hostname', 'internal-hostname']", ""))
	// An unknown word here means all sources of hostnames, unlike for an Ingress.
	route := mustCompile(externalDNSHosts(prefixes, "['hostname']", "gateway-hostname-source"))
	source := func(kind snapshot.Kind, object string, hosts Expression, versions ...string) Source {
		return Source{Kind: kind, Object: object, Versions: versions, Hosts: hosts, Deep: true}
	}
	return []Source{
		source(snapshot.GRPCRoutes, "GRPCRoute", route, "v1", "v1alpha2"),
		source(snapshot.HTTPRoutes, "HTTPRoute", route, "v1", "v1beta1", "v1alpha2"),
		source("services", "Service", service, "v1"),
		source("tcproutes.gateway.networking.k8s.io", "TCPRoute", route, "v1", "v1alpha2"),
		source(snapshot.TLSRoutes, "TLSRoute", route, "v1", "v1alpha3", "v1alpha2"),
		source("udproutes.gateway.networking.k8s.io", "UDPRoute", route, "v1", "v1alpha2"),
	}
}

// externalDNSHosts returns the expression for the hosts in annotations of external-dns.
// It ignores an object that names another controller, below the same prefix, and one
// whose annotation from says to publish the hosts of the spec only.
func externalDNSHosts(prefixes []string, annotations, from string) string {
	quoted := make([]string, len(prefixes))
	for i, p := range prefixes {
		quoted[i] = strconv.Quote(p)
	}
	ignored := "noted[?p + 'controller'].orValue('dns-controller') != 'dns-controller'"
	if from != "" {
		ignored += " ||\nnoted[?p + '" + from + "'].orValue('').lowerAscii() == 'defined-hosts-only'"
	}
	return "cel.bind(noted, object.?metadata.?annotations.orValue({}), [" + strings.Join(quoted, ", ") + "].map(p,\n" + ignored +
		"\n? []\n: " + annotations + ".map(a, noted[?p + a].orValue('').split(',')).flatten()).flatten())"
}

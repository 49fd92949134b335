package hostsource

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// istioBindings returns the gateways that a VirtualService is bound to. If it asks for
// every host, they have the lanes that its routes take there. Of those routes, the ones
// for certain hosts claim these hosts instead, which are returned as well: TLS routes
// name SNI hosts, and HTTP routes may match an exact authority.
//
// The field exportTo is not read. It hides the VirtualService from proxies of other
// namespaces, but the namespace of a gateway's pods need not be that of the Gateway.
//
// What cannot be read is returned as well: the hosts of the object are then claimed at
// whatever gateway.
func istioBindings(object map[string]any) (bindings []snapshot.Binding, hosts, unread []string) {
	namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	named, _, err := unstructured.NestedStringSlice(object, "spec", "gateways")
	if err != nil {
		return nil, nil, []string{"gateways that are not a list of texts"}
	}
	var gateways []string
	for _, g := range named {
		if g != meshGateway {
			gateways = append(gateways, strings.Clone(gatewayName(g, namespace)))
		}
	}
	slices.Sort(gateways)
	gateways = slices.Compact(gateways)
	if len(gateways) > maxBindings {
		return nil, nil, []string{fmt.Sprintf("more than %d gateways", maxBindings)}
	}
	for _, g := range gateways {
		bindings = append(bindings, snapshot.Binding{Gateway: g})
	}
	all, _, err := unstructured.NestedStringSlice(object, "spec", "hosts")
	if err != nil || len(gateways) == 0 || !slices.Contains(all, everyHost) {
		return bindings, nil, nil
	}
	r := readRoutes(object, namespace)
	for i := range bindings {
		b := &bindings[i]
		b.Lanes = slices.Concat(r.lanes[everyGateway], r.lanes[b.Gateway])
		slices.SortFunc(b.Lanes, compareLanes)
		b.Lanes = slices.Compact(b.Lanes)
		if len(b.Lanes) > maxLanes {
			b.Lanes = []snapshot.Lane{{}}
		}
	}
	return bindings, r.hosts, nil
}

// meshGateway stands for all sidecars, everyGateway for a route without gateways of
// its own.
const (
	meshGateway  = "mesh"
	everyGateway = ""
)

const (
	// maxBindings is how many proxies an object may name.
	maxBindings = 100
	// maxLanes is how many lanes are kept of an object at one proxy. One with more is
	// taken to claim everything there.
	maxLanes = 1000
)

// gatewayName returns the gateway that a VirtualService names, as namespace/name. A
// name without a namespace is in that of the VirtualService. A name with dots is the
// older spelling name.namespace.svc.cluster.local (Istio, resolveGatewayName).
func gatewayName(name, own string) string {
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		if namespace == "." {
			namespace = own
		}
		return namespace + "/" + rest
	}
	labels := strings.SplitN(name, ".", 3)
	if len(labels) == 1 {
		return own + "/" + name
	}
	return labels[1] + "/" + labels[0]
}

// routes are what the routes of a VirtualService for every host take.
type routes struct {
	HTTP []struct {
		Match []httpMatch `json:"match"`
	} `json:"http"`
	TLS []struct {
		Match []tlsMatch `json:"match"`
	} `json:"tls"`
	TCP []struct {
		Match []portMatch `json:"match"`
	} `json:"tcp"`

	namespace string
	hosts     []string
	lanes     map[string][]snapshot.Lane // by gateway
}

// portMatch is what the conditions of all protocols have in common. The conditions of
// one match must all hold. Those on the client, on headers and on the method are not
// read: that they tell requests apart cannot be shown.
type portMatch struct {
	Port     int32    `json:"port"`
	Gateways []string `json:"gateways"`
}

type httpMatch struct {
	portMatch
	URI       stringMatch `json:"uri"`
	Authority stringMatch `json:"authority"`
}

type tlsMatch struct {
	portMatch
	SNIHosts []string `json:"sniHosts"`
}

// stringMatch has one of its fields; with none it matches everything.
type stringMatch struct {
	Exact  string `json:"exact"`
	Prefix string `json:"prefix"`
	Regex  string `json:"regex"`
}

// readRoutes returns what the routes of a VirtualService take. Routes that cannot be
// read may take everything.
func readRoutes(object map[string]any, namespace string) *routes {
	r := &routes{namespace: namespace, lanes: map[string][]snapshot.Lane{}}
	data, err := json.Marshal(object["spec"])
	if err != nil || json.Unmarshal(data, r) != nil {
		r.take(portMatch{}, "")
		return r
	}
	if len(r.HTTP)+len(r.TLS)+len(r.TCP) == 0 {
		r.take(portMatch{}, "") // what it is going to route is unknown
	}
	for i := range r.HTTP {
		matches := r.HTTP[i].Match
		if len(matches) == 0 {
			matches = []httpMatch{{}}
		}
		for _, m := range matches {
			if m.Authority.Exact != "" {
				r.claim(m.portMatch, withoutPort(m.Authority.Exact))
			} else {
				r.take(m.portMatch, "http "+m.URI.beginning())
			}
		}
	}
	for i := range r.TLS {
		for _, m := range r.TLS[i].Match {
			for _, host := range m.SNIHosts {
				if host != everyHost {
					r.claim(m.portMatch, host)
				} else {
					r.take(m.portMatch, "tls ")
				}
			}
		}
	}
	for i := range r.TCP {
		matches := r.TCP[i].Match
		if len(matches) == 0 {
			matches = []portMatch{{}}
		}
		for _, m := range matches {
			r.take(m, "tcp ")
		}
	}
	return r
}

// claim adds a host, unless the match is for sidecars only.
func (r *routes) claim(m portMatch, host string) {
	if len(m.Gateways) == 0 || slices.ContainsFunc(m.Gateways, func(g string) bool { return g != meshGateway }) {
		r.hosts = append(r.hosts, host)
	}
}

// take adds a lane at the gateways of a match, or at every gateway.
func (r *routes) take(m portMatch, prefix string) {
	lane := snapshot.Lane{Port: m.Port, Prefix: strings.Clone(prefix)}
	if len(m.Gateways) == 0 {
		r.lanes[everyGateway] = append(r.lanes[everyGateway], lane)
	}
	for _, g := range m.Gateways {
		if g != meshGateway {
			name := gatewayName(g, r.namespace)
			r.lanes[name] = append(r.lanes[name], lane)
		}
	}
}

// beginning returns what all values that match begin with. It is in lower case,
// because a match may ignore the case of paths.
func (m stringMatch) beginning() string {
	switch {
	case m.Exact != "":
		return strings.ToLower(m.Exact) + snapshot.EndOfLane
	case m.Prefix != "":
		return strings.ToLower(m.Prefix)
	case m.Regex != "" && len(m.Regex) <= maxExpression:
		// The whole path must match, so an anchor changes nothing. An expression that
		// cannot be read may match everything.
		if re, err := regexp.Compile(strings.TrimPrefix(m.Regex, "^")); err == nil {
			prefix, _ := re.LiteralPrefix()
			return strings.ToLower(prefix)
		}
	}
	return ""
}

// withoutPort returns an authority without its port.
func withoutPort(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return authority
}

func compareLanes(a, b snapshot.Lane) int {
	if a.Port != b.Port {
		return int(a.Port) - int(b.Port)
	}
	return strings.Compare(a.Prefix, b.Prefix)
}

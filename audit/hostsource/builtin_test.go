package hostsource_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// objectOf is an object of a built-in source and what it claims: hosts, those
// whose wildcard covers many labels with a "+", expressions with a "~", and behind a "|"
// what is none.
type objectOf struct {
	says, object, want string
}

func TestBuiltIn(t *testing.T) {
	for _, table := range []struct {
		kinds   []snapshot.Kind
		objects []objectOf
	}{
		{[]snapshot.Kind{"routes.route.openshift.io"}, openshiftObjects()},
		{[]snapshot.Kind{"virtualservices.networking.istio.io"}, istioObjects()},
		{[]snapshot.Kind{
			"ingressroutes.traefik.io", "ingressroutes.traefik.containo.us",
			"ingressroutetcps.traefik.io", "ingressroutetcps.traefik.containo.us",
		}, traefikObjects()},
		{[]snapshot.Kind{"httpproxies.projectcontour.io"}, contourObjects()},
		{[]snapshot.Kind{"virtualservers.k8s.nginx.org"}, nginxObjects()},
		{[]snapshot.Kind{"transportservers.k8s.nginx.org"}, nginxPassthroughObjects()},
		{[]snapshot.Kind{"domainmappings.serving.knative.dev"}, knativeObjects()},
		{[]snapshot.Kind{"apisixroutes.apisix.apache.org"}, apisixObjects()},
		{[]snapshot.Kind{"dnsendpoints.externaldns.k8s.io"}, dnsEndpoints()},
		{[]snapshot.Kind{"mappings.getambassador.io"}, emissaryObjects()},
		{[]snapshot.Kind{"routegroups.zalando.org"}, []objectOf{
			{"a RouteGroup", `{"spec": {"hosts": ["shop.example.com", "*.example.com"], "routes": [{"pathSubtree": "/"}]}}`, "*.example.com shop.example.com"},
			{"a RouteGroup for every host", `{"spec": {"routes": [{"pathSubtree": "/"}]}}`, "*"},
			{"an expression that no glob is", `{"spec": {"hosts": [".*[.]example[.]com", ".*"]}}`, "~.* ~.*[.]example[.]com"},
			{
				"a RouteGroup whose routes name hosts",
				`{"spec": {"routes": [{"predicates": ["Host(\"^a[.]example[.]com$\") && Method(\"GET\")", "Host(/^b[.]example[.]com$/)"]}, {"predicates": ["HostAny(\"c.example.com\", \"d.example.com\")"]}]}}`,
				"c.example.com d.example.com ~^a[.]example[.]com$ ~^b[.]example[.]com$",
			},
			{"a RouteGroup with hosts whose routes narrow them", `{"spec": {"hosts": ["a.example.com"], "routes": [{"predicates": ["Host(/b/)"]}]}}`, "a.example.com"},
		}},
		{[]snapshot.Kind{"tcpingresses.configuration.konghq.com"}, []objectOf{
			{"a TCPIngress", `{"spec": {"rules": [{"host": "db.example.com", "port": 9443}, {"port": 9000}]}}`, "db.example.com"},
			{"a TCPIngress without rules", `{"spec": {}}`, ""},
		}},
		{[]snapshot.Kind{"virtualservers.cis.f5.com"}, []objectOf{
			{"a VirtualServer of F5", `{"spec": {"host": "shop.example.com", "hostAliases": ["www.example.com"], "hostGroup": "shop"}}`, "shop.example.com www.example.com"},
			{"a VirtualServer of F5 without a host", `{"spec": {"virtualServerAddress": "192.0.2.1"}}`, ""},
		}},
		{[]snapshot.Kind{"virtualservices.gateway.solo.io"}, []objectOf{
			{"a VirtualService of Gloo", `{"spec": {"virtualHost": {"domains": ["shop.example.com", "*.example.com"]}}}`, "*.example.com+ shop.example.com"},
			{"a VirtualService of Gloo for every domain", `{"spec": {"virtualHost": {"routes": []}}}`, ""},
		}},
	} {
		for _, kind := range table.kinds {
			s := builtIn(t, kind)
			for _, o := range table.objects {
				if got := spell(read(t, s, decode(t, o.object))); got != o.want {
					t.Errorf("%s: %s: got %q, want %q", kind, o.says, got, o.want)
				}
			}
		}
	}
}

func nginxObjects() []objectOf {
	return []objectOf{
		{"a VirtualServer", `{"spec": {"ingressClassName": "nginx", "host": "shop.example.com", "routes": [{"path": "/", "route": "team-b/cart"}]}}`, "shop.example.com"},
		{"a VirtualServer for a domain", `{"spec": {"host": "*.example.com"}}`, "*.example.com+"},
		{"a VirtualServer without a host", `{"spec": {"upstreams": []}}`, ""},
		{"a VirtualServer that was not filled in", `{"spec": {"host": "{{ .Values.host }}"}}`, "| {{ .Values.host }}"},
	}
}

func apisixObjects() []objectOf {
	return []objectOf{
		{
			"two routes",
			`{"spec": {"http": [{"match": {"hosts": ["b.example.com", "*.example.com"]}}, {"match": {"hosts": ["a.example.com"]}}, {"match": {"paths": ["/*"]}}]}}`,
			"* *.example.com+ a.example.com b.example.com",
		},
		{"a stream", `{"spec": {"stream": [{"protocol": "TLS", "match": {"ingressPort": 9443, "host": "db.example.com"}}, {"protocol": "TCP", "match": {"ingressPort": 9000}}]}}`, "db.example.com"},
		{"a rule of v1", `{"spec": {"rules": [{"host": "shop.example.com", "http": {"paths": []}}]}}`, "shop.example.com"},
		{"a condition on the header", `{"spec": {"http": [{"match": {"paths": ["/*"], "exprs": [
			{"subject": {"scope": "Header", "name": "Host"}, "op": "Equal", "value": "a.example.com"},
			{"subject": {"scope": "Header", "name": "host"}, "op": "In", "set": ["b.example.com", "c.example.com"]},
			{"subject": {"scope": "Header", "name": "host"}, "op": "NotEqual", "value": "d.example.com"},
			{"subject": {"scope": "Header", "name": "host"}, "op": "RegexMatch", "value": "^e[.]example[.]com$"},
			{"subject": {"scope": "Query", "name": "host"}, "op": "Equal", "value": "f.example.com"}]}}]}}`, "a.example.com b.example.com c.example.com ~^e[.]example[.]com$"},
		{"nothing", `{"spec": {}}`, ""},
	}
}

func dnsEndpoints() []objectOf {
	const record = `{"spec": {"endpoints": [{"dnsName": "shop.example.com", "recordType": "A", "targets": ["192.0.2.1"]}]}}`
	as := func(kind string) string { return strings.Replace(record, `"A"`, `"`+kind+`"`, 1) }
	return []objectOf{
		{"an address", record, "shop.example.com"},
		{"an address of version 6", as("AAAA"), "shop.example.com"},
		{"an alias", as("CNAME"), "shop.example.com"},
		{"a record without a type", strings.Replace(record, `"recordType": "A", `, "", 1), "shop.example.com"},
		{"a text", as("TXT"), ""},
		{"a delegation", as("NS"), ""},
		{"nothing", `{"spec": {"endpoints": []}}`, ""},
	}
}

func emissaryObjects() []objectOf {
	return []objectOf{
		{"a hostname", `{"spec": {"hostname": "shop.example.com", "prefix": "/"}}`, "shop.example.com"},
		{"a hostname with a wildcard", `{"spec": {"hostname": "*.example.com", "prefix": "/"}}`, "*.example.com+"},
		{"every hostname", `{"spec": {"hostname": "*", "prefix": "/status"}}`, "*"},
		{"the older field", `{"spec": {"host": "shop.example.com"}}`, "shop.example.com"},
		{"a host that is no expression", `{"spec": {"host": "shop.example.com", "host_regex": false}}`, "shop.example.com"},
		{"a host that is an expression", `{"spec": {"host": "^shop[.]example[.]com$", "host_regex": true}}`, "~^(^shop[.]example[.]com$)$"},
		{"no host that is an expression", `{"spec": {"host_regex": true}}`, ""},
		{"a header", `{"spec": {"hostname": "*", "headers": {":authority": "shop.example.com", "Host": true, "x-user": "y"}}}`, "* shop.example.com"},
		{"a header by an expression", `{"spec": {"hostname": "*", "regex_headers": {":authority": "shop[.]example[.]com"}}}`, "* ~^(shop[.]example[.]com)$"},
		{"every host", `{"spec": {"prefix": "/"}}`, "*"},
	}
}

func nginxPassthroughObjects() []objectOf {
	return []objectOf{
		{
			"a TransportServer for TLS passthrough",
			`{"spec": {"host": "shop.example.com", "listener": {"name": "tls-passthrough", "protocol": "TLS_PASSTHROUGH"}}}`, "shop.example.com",
		},
		{"a TransportServer on a TCP listener", `{"spec": {"host": "db.example.com", "listener": {"name": "db", "protocol": "TCP"}}}`, ""},
		{"a TransportServer without a host", `{"spec": {"listener": {"name": "dns", "protocol": "UDP"}}}`, ""},
	}
}

func openshiftObjects() []objectOf {
	return []objectOf{
		{"a Route with a host", `{"spec": {"host": "shop.example.com", "to": {"kind": "Service", "name": "web"}}}`, "shop.example.com"},
		{"a Route without wildcards", `{"spec": {"host": "shop.example.com", "wildcardPolicy": "None"}}`, "shop.example.com"},
		{"a Route for all hosts beside its own", `{"spec": {"host": "www.apps.example.com", "wildcardPolicy": "Subdomain"}}`, "*.apps.example.com"},
		{"a Route that was refused", `{"spec": {"host": "shop.example.com"}, "status": {"ingress": [{"host": "shop.example.com",
			"conditions": [{"type": "Admitted", "status": "False", "reason": "HostAlreadyClaimed"}]}]}}`, "shop.example.com"},
		{
			"a Route that asks for a subdomain", `{"spec": {"subdomain": "shop"}, "status": {"ingress": [
			{"host": "shop.apps.example.com", "routerName": "default"}, {"host": "shop.intern.example.com"}, {}]}}`,
			"shop.apps.example.com shop.intern.example.com",
		},
		{"a Route that asks for a subdomain and was not seen by a router", `{"spec": {"subdomain": "shop"}}`, ""},
	}
}

func istioObjects() []objectOf {
	return []objectOf{
		{
			"a VirtualService at a gateway", `{"spec": {"hosts": ["shop.example.com", "www.example.com"], "gateways": ["public"]}}`,
			"shop.example.com www.example.com",
		},
		{
			"a VirtualService at a gateway and in the mesh", `{"spec": {"hosts": ["shop.example.com"], "gateways": ["mesh", "istio-system/public"]}}`,
			"shop.example.com",
		},
		{"a VirtualService that names no gateway", `{"spec": {"hosts": ["shop.example.com"], "http": [{}]}}`, ""},
		{"a VirtualService without gateways", `{"spec": {"hosts": ["shop.example.com"], "gateways": []}}`, ""},
		{"a VirtualService in the mesh", `{"spec": {"hosts": ["shop.example.com"], "gateways": ["mesh"]}}`, ""},
		{"a wildcard, which covers any number of labels", `{"spec": {"hosts": ["*.example.com"], "gateways": ["public"]}}`, "*.example.com+"},
		{"every host", `{"spec": {"hosts": ["*"], "gateways": ["public"]}}`, ""},
		{"the short name of a Service", `{"spec": {"hosts": ["reviews", "shop.example.com"], "gateways": ["public"]}}`, "shop.example.com"},
		{
			"the long name of a Service", `{"spec": {"hosts": ["reviews.shop.svc.cluster.local"], "gateways": ["public"]}}`,
			"reviews.shop.svc.cluster.local",
		},
		{"an address", `{"spec": {"hosts": ["192.0.2.1"], "gateways": ["public"]}}`, "192.0.2.1"},
		{"one that another delegates to", `{"spec": {"gateways": ["public"], "http": [{}]}}`, ""},
	}
}

func traefikObjects() []objectOf {
	return []objectOf{
		{"one host", "{\"spec\": {\"routes\": [{\"kind\": \"Rule\", \"match\": \"Host(`shop.example.com`)\"}]}}", "shop.example.com"},
		{
			"several routes", "{\"spec\": {\"routes\": [{\"match\": \"Host(`b.example.com`) && PathPrefix(`/x`)\"}, {\"match\": \"Host(`a.example.com`) || Host(`b.example.com`)\"}]}}",
			"a.example.com b.example.com",
		},
		{"the older syntax", "{\"spec\": {\"routes\": [{\"match\": \"Host(`a.example.com`, `b.example.com`)\"}]}}", "a.example.com b.example.com"},
		{"the name in a TLS handshake", "{\"spec\": {\"routes\": [{\"match\": \"HostSNI(`db.example.com`)\"}]}}", "db.example.com"},
		{"any name in a TLS handshake", "{\"spec\": {\"routes\": [{\"match\": \"HostSNI(`*`)\"}]}}", "*"},
		{"a wildcard, which covers one label", "{\"spec\": {\"routes\": [{\"match\": \"Host(`*.example.com`)\"}]}}", "*.example.com"},
		{"two asterisks, which cover any number", "{\"spec\": {\"routes\": [{\"match\": \"Host(`**.example.com`)\"}]}}", "*.example.com+"},
		{
			"a regular expression beside a host", "{\"spec\": {\"routes\": [{\"match\": \"HostRegexp(`^.+$`)\"}, {\"match\": \"Host(`a.example.com`)\"}]}}",
			"a.example.com ~^.+$",
		},
		{
			"a rule that does not parse beside one that does", "{\"spec\": {\"routes\": [{\"match\": \"Host(`a.example.com`) ||\"}, {\"match\": \"Host(`b.example.com`)\"}]}}",
			"b.example.com | rule \"Host(`a.example.com`) ||\"",
		},
		{"a path for every host", "{\"spec\": {\"routes\": [{\"match\": \"PathPrefix(`/`)\"}]}}", ""},
		{"a host that is excluded", "{\"spec\": {\"routes\": [{\"match\": \"!Host(`a.example.com`)\"}]}}", ""},
		{"a route without a rule", `{"spec": {"routes": [{}, {"kind": "Rule"}]}}`, ""},
		{"hosts of certificates only", `{"spec": {"tls": {"domains": [{"main": "a.example.com"}]}}}`, ""},
	}
}

func contourObjects() []objectOf {
	return []objectOf{
		{"a root", `{"spec": {"virtualhost": {"fqdn": "shop.example.com"}, "routes": []}}`, "shop.example.com"},
		{"a wildcard, which covers one label", `{"spec": {"virtualhost": {"fqdn": "*.example.com"}}}`, "*.example.com"},
		{"one that others include", `{"spec": {"routes": [{"conditions": [{"prefix": "/"}]}]}}`, ""},
		{"a virtual host without a name", `{"spec": {"virtualhost": {"tls": {}}}}`, ""},
	}
}

func knativeObjects() []objectOf {
	return []objectOf{
		{"a DomainMapping", `{"metadata": {"name": "shop.example.com", "namespace": "team-a"}, "spec": {"ref": {"name": "shop"}}}`, "shop.example.com"},
	}
}

// Whatever is missing from an object, reading it does not fail, and it claims
// nothing beyond what it claims as a whole, or every host.
func TestBuiltInSparse(t *testing.T) {
	whole := `{"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "a.example.com", "namespace": "n", "labels": {"a": "b"},
		"ownerReferences": [{"kind": "Ingress"}]},
		"spec": {"host": "a.example.com", "path": "/", "wildcardPolicy": "None", "hosts": ["a.example.com"], "gateways": ["g"],
		"routes": [{"match": "Host(` + "`a.example.com`" + `)"}], "virtualhost": {"fqdn": "a.example.com"}},
		"status": {"ingress": [{"host": "a.example.com"}]}}`
	everyHost := map[snapshot.Kind]string{"routegroups.zalando.org": "*"}
	for _, s := range hostsource.BuiltIn() {
		check := func(change string, object map[string]any) {
			claims, err := s.Read(t.Context(), object)
			if got := spell(claims); err != nil || got != "" && got != "a.example.com" && got != everyHost[s.Kind] {
				t.Errorf("%s: %s: got %q, %v", s.Kind, change, got, err)
			}
		}
		check("the whole object", decode(t, whole))
		check("an empty object", map[string]any{})
		check("empty sections", decode(t, `{"metadata": {}, "spec": {}, "status": {}}`))
		thin(decode(t, whole), "", func(change string, object any) { check(change, object.(map[string]any)) })
	}
}

// thin calls check with the value less each of its parts in turn.
func thin(value any, path string, check func(change string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, kept := range v {
			delete(v, key)
			check("without "+path+"."+key, v)
			v[key] = kept
			thin(kept, path+"."+key, func(change string, part any) {
				v[key] = part
				check(change, v)
			})
			v[key] = kept
		}
	case []any:
		for i, kept := range v {
			check("without an item of "+path, slices.Delete(slices.Clone(v), i, i+1))
			thin(kept, path, func(change string, part any) {
				v[i] = part
				check(change, v)
			})
			v[i] = kept
		}
	}
}

func TestBuiltInIsValid(t *testing.T) {
	sources := hostsource.BuiltIn()
	if !slices.IsSortedFunc(sources, func(a, b hostsource.Source) int { return strings.Compare(string(a.Kind), string(b.Kind)) }) {
		t.Error("not sorted by kind")
	}
	for _, s := range sources {
		if s.Object == "" || len(s.Versions) == 0 || len(s.Fields) == 0 || !s.BuiltIn || s.Kind.Group() == "" {
			t.Errorf("something is missing: %+v", s)
		}
	}
}

func builtIn(t testing.TB, kind snapshot.Kind) hostsource.Source {
	t.Helper()
	for _, s := range hostsource.BuiltIn() {
		if s.Kind == kind {
			return s
		}
	}
	t.Fatalf("no built-in source of %s", kind)
	return hostsource.Source{}
}

// spell writes claims as the tables do.
func spell(c hostsource.Claims) string {
	var words []string
	for _, h := range c.Hosts {
		if h.Deep {
			h.Host += "+"
		}
		words = append(words, h.Host)
	}
	for _, e := range c.Expressions {
		words = append(words, "~"+e.Text)
	}
	if rest := slices.Concat(c.Unread, c.Invalid); len(rest) > 0 {
		words = append(append(words, "|"), rest...)
	}
	if c.Solver {
		words = append(words, "(solver)")
	}
	return strings.Join(words, " ")
}

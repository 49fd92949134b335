package hostsource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// spellBindings spells proxies with their lanes, a line for each.
func spellBindings(c hostsource.Claims) []string {
	var out []string
	for _, b := range c.Bindings {
		at := b.Gateway
		if at == "" {
			at = fmt.Sprintf("entry point %q, class %q", b.EntryPoint, b.Class)
		}
		for _, l := range b.Lanes {
			at += fmt.Sprintf(" [%d %s]", l.Port, strings.ReplaceAll(l.Prefix, snapshot.EndOfLane, "$"))
		}
		out = append(out, at)
	}
	return out
}

func TestIstioGatewaysOfAVirtualService(t *testing.T) {
	s := builtIn(t, "virtualservices.networking.istio.io")
	for _, c := range []struct {
		gateways string
		want     []string
	}{
		{`[]`, nil},
		{`["mesh"]`, nil},
		{`["public"]`, []string{"team-a/public"}},
		{`["mesh", "edge/public", "./own", "edge/public"]`, []string{"edge/public", "team-a/own"}},
		{`["public.edge.svc.cluster.local", "internal.edge"]`, []string{"edge/internal", "edge/public"}},
	} {
		claims := read(t, s, decode(t, `{"metadata": {"namespace": "team-a"}, "spec": {"hosts": ["a.com"], "gateways": `+c.gateways+`}}`))
		if diff := cmp.Diff(c.want, spellBindings(claims)); diff != "" {
			t.Errorf("%s: bindings (-want +got):\n%s", c.gateways, diff)
		}
	}
}

func TestIstioLanesOfEveryHost(t *testing.T) {
	s := builtIn(t, "virtualservices.networking.istio.io")
	for _, c := range []struct {
		says, spec string
		want       []string
		hosts      string
	}{
		{"a named host has no lanes", `"hosts": ["a.com"], "http": [{"route": []}]`, []string{"n/g", "n/h"}, "a.com"},
		{"no routes", `"hosts": ["*"]`, []string{"n/g [0 ]", "n/h [0 ]"}, ""},
		{"a route without a match", `"hosts": ["*"], "http": [{"route": []}]`, []string{"n/g [0 http ]", "n/h [0 http ]"}, ""},
		{
			"matches by path", `"hosts": ["*"], "http": [
			{"match": [{"uri": {"prefix": "/B"}}, {"uri": {"exact": "/a"}, "ignoreUriCase": true}]},
			{"match": [{"uri": {"regex": "^/c/[0-9]+"}}, {"uri": {"prefix": "/B"}, "headers": {"x": {"exact": "y"}}}]}]`,
			[]string{"n/g [0 http /a$] [0 http /b] [0 http /c/]", "n/h [0 http /a$] [0 http /b] [0 http /c/]"},
			"",
		},
		{
			"matches that may match everything", `"hosts": ["*"], "http": [
			{"match": [{"headers": {"x": {"exact": "y"}}}, {"uri": {"regex": "(broken"}}, {"uri": {"regex": "(?i)a"}}, {"uri": {}}]}]`,
			[]string{"n/g [0 http ]", "n/h [0 http ]"},
			"",
		},
		{
			"matches by port", `"hosts": ["*"], "http": [{"match": [{"port": 80}]}], "tcp": [{"match": [{"port": 5432}]}, {}]`,
			[]string{"n/g [0 tcp ] [80 http ] [5432 tcp ]", "n/h [0 tcp ] [80 http ] [5432 tcp ]"},
			"",
		},
		{
			"matches at one gateway", `"hosts": ["*"], "http": [{"match": [{"uri": {"prefix": "/a"}, "gateways": ["h", "mesh"]}]},
			{"match": [{"uri": {"prefix": "/b"}, "gateways": ["mesh"]}]}]`,
			[]string{"n/g", "n/h [0 http /a]"},
			"",
		},
		{
			"routes for certain hosts", `"hosts": ["*"], "http": [{"match": [{"authority": {"exact": "A.com:8443"}}]},
			{"match": [{"authority": {"exact": "inside.com"}, "gateways": ["mesh"]}]}],
			"tls": [{"match": [{"sniHosts": ["b.com", "*.c.com"]}]}]`,
			[]string{"n/g", "n/h"},
			"*.c.com+ A.com b.com",
		},
		{
			"an authority that is no exact one", `"hosts": ["*"], "http": [{"match": [{"authority": {"prefix": "a."}, "uri": {"prefix": "/a"}}]}]`,
			[]string{"n/g [0 http /a]", "n/h [0 http /a]"},
			"",
		},
		{
			"every connection with TLS", `"hosts": ["*"], "tls": [{"match": [{"sniHosts": ["*"], "port": 443}]}]`,
			[]string{"n/g [443 tls ]", "n/h [443 tls ]"},
			"",
		},
		{"routes that cannot be read", `"hosts": ["*"], "http": {"match": 1}`, []string{"n/g [0 ]", "n/h [0 ]"}, ""},
		{
			"too many lanes", `"hosts": ["*"], "http": [{"match": [` + manyMatches(1001) + `]}]`,
			[]string{"n/g [0 ]", "n/h [0 ]"},
			"",
		},
	} {
		claims := read(t, s, decode(t, `{"metadata": {"namespace": "n"}, "spec": {"gateways": ["g", "h", "mesh"], `+c.spec+`}}`))
		if diff := cmp.Diff(c.want, spellBindings(claims)); diff != "" {
			t.Errorf("%s: bindings (-want +got):\n%s", c.says, diff)
		}
		if got := spell(claims); got != c.hosts {
			t.Errorf("%s: hosts %q, want %q", c.says, got, c.hosts)
		}
	}
}

func manyMatches(n int) string {
	matches := make([]string, n)
	for i := range matches {
		matches[i] = fmt.Sprintf(`{"uri": {"prefix": "/%d/"}}`, i)
	}
	return strings.Join(matches, ", ")
}

// What cannot be read excuses no host.
func TestIstioGatewaysThatCannotBeRead(t *testing.T) {
	s := builtIn(t, "virtualservices.networking.istio.io")
	many := strings.TrimSuffix(strings.Repeat(`"g%d", `, 101), ", ")
	for i := range 101 {
		many = strings.Replace(many, "%d", fmt.Sprint(i), 1)
	}
	for gateways, want := range map[string]string{
		`[1]`:            "a.com | gateways that are not a list of texts",
		`[` + many + `]`: "a.com | more than 100 gateways",
	} {
		claims := read(t, s, decode(t, `{"metadata": {"namespace": "n"}, "spec": {"hosts": ["a.com", "*"], "gateways": `+gateways+`}}`))
		if got := spell(claims); got != want || len(claims.Bindings) > 0 {
			t.Errorf("claims %q at %v, want %q", got, claims.Bindings, want)
		}
	}
}

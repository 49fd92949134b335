package hostsource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestTraefikHosts(t *testing.T) {
	names := compile(t, "traefikHosts(object.rule)")
	for _, c := range []struct {
		rule string
		want []string
	}{
		{"", nil},
		{"Host(`a.com`)", []string{"a.com"}},
		{`Host("a.com")`, []string{"a.com"}},
		{"Host(`a.com`, `b.com`)", []string{"a.com", "b.com"}}, // the older syntax
		{"Host(`a.com`) || Host(`b.com`)", []string{"a.com", "b.com"}},
		{"(Host(`a.com`) && PathPrefix(`/x`)) || (Host(`b.com`) && Path(`/y`))", []string{"a.com", "b.com"}},
		{"Host(`*.a.com`)", []string{"*.a.com"}},
		{"HostSNI(`a.com`)", []string{"a.com"}},
		{"HostSNI(`*`)", []string{"*"}},
		{"HostHeader(`a.com`)", []string{"a.com"}},
		{"host(`a.com`) || HOST(`b.com`) || Hostsni(`c.com`)", []string{"a.com", "b.com", "c.com"}},
		{"PathPrefix(`/`)", nil},
		{"Headers(`Host`, `a.com`)", nil},
		{"Path(`/Host(a.com)`) || Path(`) || Host(` + `/`)", []string{"rule \"Path(`/Host(a.com)`) || Path(`) || Host(` + `/`)\""}},
		{"!Host(`a.com`)", nil},
		{"! Host(`a.com`) && Host(`b.com`)", []string{"b.com"}},
		{"!(Host(`a.com`) || Host(`b.com`))", nil},
		{"!(!Host(`a.com`))", []string{"a.com"}},
		{`Host("\x61.com") && Host/* here */ (` + "`b.com`)", []string{"a.com", "b.com"}},
		{"ClientIP(`10.0.0.0/8`) && Host(`a.com`)", []string{"a.com"}},
		{"HostRegexp(`^.+\\.a\\.com$`) || Host(`a.com`)", []string{"HostRegexp(`^.+\\.a\\.com$`)", "a.com"}},
		{"HostSNIRegexp(`.+`)", []string{"HostSNIRegexp(`.+`)"}},
		{"!HostRegexp(`.+`)", nil},
		{"a.com", []string{`rule "a.com"`}},
		{"Host(`a.com`", []string{"rule \"Host(`a.com`\""}},
		{"Host('a.com')", []string{`rule "Host('a.com')"`}},
		{"Host(`a.com`) & Host(`b.com`)", []string{"rule \"Host(`a.com`) & Host(`b.com`)\""}},
		{"-Host(`a.com`)", []string{"rule \"-Host(`a.com`)\""}},
		{"x.Host(`a.com`)", []string{"rule \"x.Host(`a.com`)\""}},
		{"Host(a)", []string{`rule "Host(a)"`}},
		{strings.Repeat("x", 70_000), []string{"rule of 68 KiB"}},
	} {
		got, err := names.Eval(t.Context(), map[string]any{"rule": c.rule})
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%.80s: hosts (-want +got):\n%s", c.rule, diff)
		}
	}
}

// The parser bears nesting without end.
func TestTraefikHostsNested(t *testing.T) {
	names := compile(t, "traefikHosts(object.rule)")
	for _, rule := range []string{
		strings.Repeat("(", 30_000) + "Host(`a.com`)" + strings.Repeat(")", 30_000),
		strings.Repeat("!", 60_000) + "Host(`a.com`)",
		strings.Repeat("Host(`a`)||", 5_900) + "Host(`a`)",
	} {
		if _, err := names.Eval(t.Context(), map[string]any{"rule": rule}); err != nil && !strings.HasPrefix(err.Error(), "the object has more than") {
			t.Errorf("%.20s...: %v", rule, err)
		}
	}
}

func TestTraefikEntryPoints(t *testing.T) {
	s := builtIn(t, "ingressroutetcps.traefik.io")
	const all = `"routes": [{"match": "HostSNI(` + "`*`" + `)"}]`
	for _, c := range []struct {
		says, object string
		want         []string
		hosts        string
	}{
		{"named hosts", `{"spec": {"entryPoints": ["db"], "routes": [{"match": "HostSNI(` + "`a.com`" + `)"}]}}`, nil, "a.com"},
		{"one entry point", `{"spec": {"entryPoints": ["db"], ` + all + `}}`, []string{`entry point "db", class "" [0 tcp ]`}, "*"},
		{"several, with TLS", `{"spec": {"entryPoints": ["db", "web"], "tls": {}, ` + all + `}}`, []string{
			`entry point "db", class "" [0 tls ]`, `entry point "web", class "" [0 tls ]`,
		}, "*"},
		{"every entry point", `{"spec": {` + all + `}}`, []string{`entry point "", class "" [0 tcp ]`}, "*"},
		{
			"another Traefik", `{"metadata": {"annotations": {"kubernetes.io/ingress.class": "internal"}}, "spec": {"entryPoints": ["db"], ` + all + `}}`,
			[]string{`entry point "db", class "internal" [0 tcp ]`},
			"*",
		},
		{
			"the default Traefik", `{"metadata": {"annotations": {"kubernetes.io/ingress.class": "traefik"}}, "spec": {"entryPoints": ["db"], ` + all + `}}`,
			[]string{`entry point "db", class "" [0 tcp ]`},
			"*",
		},
		{"entry points that cannot be read", `{"spec": {"entryPoints": "db", ` + all + `}}`, nil, "* | entry points that are not a list of texts"},
	} {
		claims := read(t, s, decode(t, c.object))
		if diff := cmp.Diff(c.want, spellBindings(claims)); diff != "" {
			t.Errorf("%s: bindings (-want +got):\n%s", c.says, diff)
		}
		if got := spell(claims); got != c.hosts {
			t.Errorf("%s: hosts %q, want %q", c.says, got, c.hosts)
		}
	}
}

func TestTraefikRouters(t *testing.T) {
	source := builtIn(t, "ingressroutes.traefik.io")
	for _, c := range []struct {
		rule  string
		lanes string // of every host
		ranks string
	}{
		{"Host(`a.x`)", "", "a.x:11"},
		{"PathPrefix(`/`)", "[http /:15]", ""},
		{"PathPrefix(`/a`) && PathPrefix(`/`)", "[http /a:35]", ""},
		{"Path(`/a`)", "[http /a$:10]", ""},
		{"Path(`/a/{id}`)", "[http /a/:15]", ""},
		{"Path(`/a`, `/b`)", "[http :16]", ""},
		{"PathRegexp(`^/a+`)", "[http /a:18]", ""},
		{"PathRegexp(`a`)", "[http :15]", ""},
		{"Host(`a.x`) || PathPrefix(`/b`)", "[http /b:31]", "a.x:31"},
		{"Host(`a.x`) && (PathPrefix(`/`) || Method(`GET`))", "", "a.x:49"},
		{"HostRegexp(`.+`)", "[http :16]", ""},
		{"HostRegexp(`{any:.*}`) && Host(`a.x`)", "", "a.x:37"},
		{"HostRegexp(`^[a-z]+\\.x$`)", "", ""},
		{"!Host(`a.x`)", "[http :12]", ""},
		{"!(Host(`a.x`) || PathPrefix(`/`))", "[http :33]", ""},
		{"!(!Host(`a.x`) && Method(`GET`))", "[http :32]", "a.x:32"},
		{"Headers(`X`, `y`)", "[http :17]", ""},
		{"Host(`a.x`) +", "", ""},
	} {
		claims := read(t, source, map[string]any{"spec": map[string]any{
			"entryPoints": []any{"web"}, "routes": []any{map[string]any{"match": c.rule}, map[string]any{"match": "Host(`b.x`)", "priority": int64(-7)}},
		}})
		var lanes, ranks string
		for _, l := range claims.Bindings[0].Lanes {
			lanes += fmt.Sprintf("[%s:%d]", strings.ReplaceAll(l.Prefix, snapshot.EndOfLane, "$"), l.Rank)
		}
		for _, h := range claims.Hosts {
			if h.Host != "b.x" {
				ranks += fmt.Sprintf("%s:%d", h.Host, h.Rank)
			} else if h.Rank != -7 {
				t.Errorf("%s: priority %d, want -7", c.rule, h.Rank)
			}
		}
		if lanes != c.lanes || ranks != c.ranks {
			t.Errorf("%s: every host %s, want %s; hosts %s, want %s", c.rule, lanes, c.lanes, ranks, c.ranks)
		}
	}
}

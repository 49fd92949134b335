package hostsource_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestWhatIsAHost(t *testing.T) {
	for _, c := range []struct {
		says, value string
		host        bool
	}{
		{"a name", "shop.example.com", true},
		{"a name in capitals with a dot at its end", "Shop.Example.COM.", true},
		{"a name of one label", "localhost", true},
		{"a wildcard", "*.example.com", true},
		{"a wildcard inside a label, which is an expression", "shop-*.example.com", false},
		{"every host", "*", true},
		{"an underscore", "_dmarc.example.com", true},
		{"letters beyond ASCII", "bücher.example", true},
		{"a dot beyond ASCII", "例え。テスト", true},
		{"an address", "192.0.2.1", true},
		{"an address of version 6", "2001:db8::1", true},
		{"blanks around it", " shop.example.com\n", true},
		{"a port", "shop.example.com:8443", true},
		{"a path", "shop.example.com/cart", false},
		{"a URL", "https://shop.example.com", false},
		{"a regular expression", `^shop\.example\.com$`, false},
		{"a template", "{{ .Host }}", false},
		{"two hosts in one text", "a.example.com b.example.com", false},
		{"an escape sequence", "shop\x1b[2J.example.com", false},
		{"a mark that turns the direction of writing", "shop\u202emoc.elpmaxe", false},
		{"a name without end", strings.Repeat("a", 254), false},
	} {
		claims := read(t, hostsource.Source{Hosts: compile(t, "object.h")}, map[string]any{"h": c.value})
		if got := len(claims.Hosts) == 1 && len(claims.Invalid) == 0; got != c.host {
			t.Errorf("%s: %q gives %+v", c.says, c.value, claims)
		}
		if len(claims.Hosts)+len(claims.Expressions)+len(claims.Invalid) != 1 {
			t.Errorf("%s: %q is lost: %+v", c.says, c.value, claims)
		}
		if text := strings.Join(claims.Invalid, ""); strings.ContainsAny(text, "\x1b\u202e") || len([]rune(text)) > 160 {
			t.Errorf("%s: %q is not fit to be shown", c.says, text)
		}
	}
}

func TestClaimsAreSortedAndEachOnce(t *testing.T) {
	object := map[string]any{"h": []any{"b", "/3", "a", "/1", "b", "", " ", "/4", "/2", "a", "/1"}}
	got := read(t, hostsource.Source{Hosts: compile(t, "object.h")}, object)
	want := hostsource.Claims{
		Hosts:   []snapshot.HostPattern{{Host: "a"}, {Host: "b"}},
		Invalid: []string{"/1", "/2", "/3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func TestHowManyLabelsAWildcardCovers(t *testing.T) {
	object := map[string]any{"h": []any{"*.a.com", "**.a.com", "b.a.com"}}
	for _, deep := range []bool{false, true} {
		got := read(t, hostsource.Source{Hosts: compile(t, "object.h"), Deep: deep}, object)
		want := []snapshot.HostPattern{{Host: "*.a.com"}, {Host: "*.a.com", Deep: true}, {Host: "b.a.com"}}
		if deep {
			want = want[1:]
		}
		if diff := cmp.Diff(want, got.Hosts); diff != "" {
			t.Errorf("of a source with Deep %t (-want +got):\n%s", deep, diff)
		}
	}
}

func TestExpressions(t *testing.T) {
	for value, want := range map[string]string{
		`~^shop\.x$`:                           `^shop\.x$`,
		`^shop\.x$`:                            `^shop\.x$`,
		`shop[.]x`:                             `shop[.]x`,
		"shop-*.x":                             `whole shop-.*\.x`,
		"shop.*":                               `whole shop\..*`,
		"sho?.x":                               `whole sho.\.x`,
		"HostRegexp(`^shop\\.x$`)":             `^shop\.x$`,
		"hostregexp(`a`, `b`)":                 "a b",
		"HostSNIRegexp(`.+`)":                  ".+",
		"HostRegexp(`{sub:[a-z]+}.x`)":         `(?:{sub:[a-z]+}.x)|^(?:(?:[a-z]+)\.x)$`,
		"HostRegexp(`{sub}.x`)":                `(?:{sub}.x)|^(?:(?:[^.]+)\.x)$`,
		"HostRegexp(`{a:[a-z]{2}}.{b:(x|y)}`)": `(?:{a:[a-z]{2}}.{b:(x|y)})|^(?:(?:[a-z]{2})\.(?:(x|y)))$`,
		"HostRegexp(`{sub:(?!a)}.x`)":          "{sub:(?!a)}.x",
		"HostRegexp(`[`)":                      "[",
		"HostRegexp(`a` + `b`)":                "(",
		"{{ .Host }}":                          "",
		"$(HOST).x":                            "",
		"https://shop.x/(a)":                   "",
		"shop.x/cart":                          "",
		"Path(`/x`)":                           "Path(`/x`)",
	} {
		claims := read(t, hostsource.Source{Hosts: compile(t, "object.h")}, map[string]any{"h": value})
		var got []string
		for _, e := range claims.Expressions {
			if e.Whole {
				e.Text = "whole " + e.Text
			}
			got = append(got, e.Text)
		}
		if strings.Join(got, " ") != want || len(claims.Hosts) > 0 {
			t.Errorf("%s: got %q and hosts %v, want %q", value, got, claims.Hosts, want)
		}
	}
}

func TestTooManyExpressions(t *testing.T) {
	var values []any
	for i := range 150 {
		values = append(values, fmt.Sprintf("~^shop-%d", i))
	}
	claims := read(t, hostsource.Source{Hosts: compile(t, "object.h")}, map[string]any{"h": values})
	if diff := cmp.Diff([]string{"more than 100 regular expressions"}, claims.Unread); diff != "" || len(claims.Expressions) != 100 {
		t.Errorf("%d expressions; unread (-want +got):\n%s", len(claims.Expressions), diff)
	}
}

func read(t testing.TB, s hostsource.Source, object map[string]any) hostsource.Claims {
	t.Helper()
	claims, err := s.Read(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// Whatever an object looks like, reading it ends soon, with claims or one line
// that says why not, and in the same way when it is read again.
func FuzzBuiltIn(f *testing.F) {
	for _, table := range [][]objectOf{openshiftObjects(), istioObjects(), traefikObjects(), contourObjects(), knativeObjects()} {
		for _, o := range table {
			f.Add([]byte(o.object))
		}
	}
	for _, seed := range []string{
		`{}`, `{"spec": 1}`, `{"spec": []}`, `{"spec": {"host": {"a": 1}, "wildcardPolicy": 5}}`, `{"spec": {"hosts": {"a.b": 1}, "gateways": {"a": 1}}}`,
		`{"spec": {"hosts": [1, null, "a", ["b.c"], {"d": 1}], "gateways": [null, 1]}}`, `{"spec": {"routes": [1, null, {"match": 1}, {"match": null}]}}`,
		`{"spec": {"routes": "x", "virtualhost": "x"}, "metadata": "x"}`, `{"metadata": {"labels": [], "ownerReferences": {"a": 1}, "name": ["a"]}}`,
		`{"spec": {"host": "", "wildcardPolicy": "Subdomain"}, "status": {"ingress": [{"host": 1}, 2]}}`, `{"spec": {"host": "\u202e\u001b[2J", "hosts": ["\u0000."]}}`, `{"spec": {"host": "\u0007"}}`,
	} {
		f.Add([]byte(seed))
	}
	sources := hostsource.BuiltIn()
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]any
		if len(data) > 64<<10 || kjson.UnmarshalCaseSensitivePreserveInts(data, &object) != nil {
			return
		}
		before, _ := json.Marshal(object)
		for _, s := range sources {
			start := time.Now()
			claims, err := s.Read(t.Context(), object)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s: it took %s", s.Kind, took)
			}
			again, err2 := s.Read(t.Context(), object)
			if diff := cmp.Diff(claims, again); diff != "" || (err == nil) != (err2 == nil) {
				t.Errorf("%s: another result when it is read again: %v, %v\n%s", s.Kind, err, err2, diff)
			}
			checkFit(t, s, claims, err)
		}
		if after, _ := json.Marshal(object); string(before) != string(after) {
			t.Errorf("the object was changed from %s to %s", before, after)
		}
	})
}

// checkFit holds what was read to what others rely on.
func checkFit(t *testing.T, s hostsource.Source, claims hostsource.Claims, err error) {
	t.Helper()
	texts := slices.Concat(claims.Invalid, claims.Unread)
	if err != nil {
		if len(claims.Hosts)+len(claims.Expressions)+len(claims.Invalid)+len(claims.Unread) > 0 {
			t.Errorf("%s: claims beside an error: %+v", s.Kind, claims)
		}
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len([]rune(text)) > 200 {
			t.Errorf("%s: not fit to be shown: %q", s.Kind, text)
		}
	}
	for _, h := range claims.Hosts {
		if h.Host == "" || strings.TrimSpace(h.Host) != h.Host || strings.HasPrefix(h.Host, "**.") {
			t.Errorf("%s: no host: %q", s.Kind, h.Host)
		}
	}
}

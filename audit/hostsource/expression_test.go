package hostsource_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/hostsource"
)

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ says, text, want string }{
		{"an empty text", " \n", "must not be empty: use an expression that returns the hosts of an object"},
		{"a text of another language", "spec.host", "does not compile at column 1: undeclared reference to 'spec'"},
		{"two expressions", "object.a object.b", "does not compile at column 10: mismatched input 'object' expecting <EOF>"},
		{"a parenthesis left open on the second line", "object.a\n  .map(x, x", "does not compile at line 2, column 12: missing ')' at '<EOF>'"},
		{"a mistake on the last line of three", "object.a\n  .b\n  .map(c, d)\n", "does not compile at line 3, column 11: undeclared reference to 'd'"},
		{"a function that there is not", "hosts(object)", "does not compile at column 6: undeclared reference to 'hosts'"},
		{"a number", "1", "returns int, want a list of strings, a string or null"},
		{"a yes or no", "object.a == 'b'", "returns bool, want a list of strings, a string or null"},
		{"a list of numbers", "[1]", "returns list(int), want a list of strings, a string or null"},
		{"a list of lists", "[['a']]", "returns list(list(string)), want a list of strings, a string or null"},
		{"a map", "{'a': 'b'}", "returns map(string, string), want a list of strings, a string or null"},
		{"a number that may be missing", "optional.of(1)", "returns optional_type(int), want a list of strings, a string or null"},
		{"a text that is too long", strings.Repeat("a", 9000), "is longer than 8 KiB"},
		{"a text that nests too deep", strings.Repeat("(", 500) + "'a'" + strings.Repeat(")", 500), "does not compile: expression recursion limit exceeded: 64"},
		{"letters that move the cursor", "'a' + '\x1b[2J", "does not compile at column 7: token recognition error at: ''\x20[2J'"},
	} {
		_, err := hostsource.Compile(c.text)
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.says, got, c.want)
		}
	}
}

func TestEval(t *testing.T) {
	const object = `{"metadata": {"name": "n", "annotations": {"a/b": "x.com,y.com"}}, "spec": {"one": "a.com", "many": ["a.com", "b.com", null],
		"none": [], "mixed": ["a.com", 1], "number": 1, "deep": [["a.com"], ["b.com"]], "map": {"a.com": 1}}}`
	for _, c := range []struct {
		text string
		want []string
		fail string
	}{
		{"object.spec.one", []string{"a.com"}, ""},
		{"object.spec.many", []string{"a.com", "b.com"}, ""},
		{"object.spec.none", nil, ""},
		{"null", nil, ""},
		{"[]", nil, ""},
		{"object.?spec.?one", []string{"a.com"}, ""},
		{"object.?spec.?two", nil, ""},
		{"[object.?spec.?one, object.?spec.?two]", []string{"a.com"}, ""},
		{"object.spec.deep.flatten()", []string{"a.com", "b.com"}, ""},
		{"object.metadata.annotations['a/b'].split(',')", []string{"x.com", "y.com"}, ""},
		{"object.spec.map.transformList(host, _, host)", []string{"a.com"}, ""},
		{"regex.extractAll(object.metadata.annotations['a/b'], '[a-z]+[.]com')", []string{"x.com", "y.com"}, ""},
		{"cel.bind(s, object.spec, [s.one, 'z.' + s.one])", []string{"a.com", "z.a.com"}, ""},
		{"traefikHosts('Host(`a.com`)')", []string{"a.com"}, ""},
		{"object.spec.two", nil, "no such key: two"},
		{"['a.com', 1]", nil, "the expression returns a list with a value of type int"},
		{"object.spec.number", nil, "the expression returns a value of type int"},
		{"object.spec.map", nil, "the expression returns a value of type map"},
		{"object.spec.mixed", nil, "the expression returns a list with a value of type int"},
		{"object.spec.deep", nil, "the expression returns a list with a value of type list"},
		{"object.spec.number.split(',')", nil, "no such overload"},
		{"traefikHosts(object.spec.number)", nil, "no such overload"},
	} {
		got, err := compile(t, c.text).Eval(t.Context(), decode(t, object))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: hosts (-want +got):\n%s", c.text, diff)
		}
		if err == nil && c.fail != "" || err != nil && (c.fail == "" || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%s: got error %v, want %q", c.text, err, c.fail)
		}
	}
}

func TestEvalWithoutExpression(t *testing.T) {
	if _, err := (hostsource.Expression{}).Eval(t.Context(), nil); err == nil {
		t.Error("the zero value yields something")
	}
}

// A hostile object is given up, and soon.
func TestEvalLimits(t *testing.T) {
	for _, c := range []struct{ says, text, object, want string }{
		{"a loop over a long list", "object.l.filter(x, x.contains('.'))", list(100_000), "the expression exceeds the CEL cost limit of 50000"},
		{"a loop in a loop", "object.l.filter(x, object.l.exists(y, y == x + 'b'))", list(1_000), "the expression exceeds the CEL cost limit of 50000"},
		{"a string that doubles", "object.l.map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).join('')", list(2_000), "the expression exceeds the CEL cost limit of 50000"},
		{
			"a long rule again and again", "object.l.map(x, traefikHosts(object.rule)).flatten()",
			`{"rule": "` + strings.Repeat("x", 60_000) + `", ` + list(1_000)[1:], "the expression exceeds the CEL cost limit of 50000",
		},
		{"more hosts than anybody has", "object.l", list(5_001), "the object has more than 5000 hosts"},
	} {
		object := decode(t, c.object)
		_, err := compile(t, c.text).Eval(t.Context(), object)
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.says, got, c.want)
		}
	}
}

func TestEvalAfterTheEnd(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	for _, text := range []string{"object.l", "object.l.filter(x, x.contains('.'))", "object.l.m"} {
		if _, err := compile(t, text).Eval(ctx, decode(t, list(1_000))); !errors.Is(err, over) {
			t.Errorf("%s: got %v, want the cause of the end", text, err)
		}
	}
}

func TestExpressionEqual(t *testing.T) {
	a, b, none := compile(t, "object.a"), compile(t, "object.b"), hostsource.Expression{}
	if !a.Equal(compile(t, "object.a")) || a.Equal(b) || a.Equal(none) || !none.Equal(none) || !none.IsZero() || a.IsZero() {
		t.Error("expressions are equal if and only if they are spelled alike")
	}
}

func compile(t testing.TB, text string) hostsource.Expression {
	t.Helper()
	e, err := hostsource.Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

// list returns an object whose field l is a list of n strings.
func list(n int) string {
	return `{"l": [` + strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") + `]}`
}

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		source  hostsource.Source
		objects []objectOf
	}{
		{builtIn(b, "routes.route.openshift.io"), openshiftObjects()},
		{builtIn(b, "virtualservices.networking.istio.io"), istioObjects()},
		{builtIn(b, "ingressroutes.traefik.io"), traefikObjects()},
		{builtIn(b, "httpproxies.projectcontour.io"), contourObjects()},
		{builtIn(b, "domainmappings.serving.knative.dev"), knativeObjects()},
	} {
		b.Run(c.source.Object, func(b *testing.B) {
			object := decode(b, c.objects[0].object)
			for b.Loop() {
				read(b, c.source, object)
			}
		})
	}
}

package hostsource

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eventuallytrue/audit/rules/hosts/expression"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const (
	traefikFunction = "traefikHosts"
	traefikOverload = "traefik_hosts_string"
)

// callTraefikHosts makes traefikHosts callable from expressions.
func callTraefikHosts(rule ref.Val) ref.Val {
	text, ok := rule.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(rule)
	}
	return types.NewStringList(types.DefaultTypeAdapter, traefikHosts(string(text)))
}

// longestRule is the maximum size of a rule in bytes.
const longestRule = 64 << 10

// unreadRule begins what traefikHosts returns for a rule that it can't read. It is not a
// host. An object that forges it has a fault of its own, and nothing else.
const unreadRule = "rule "

// traefikHosts returns the hosts in a Traefik rule: the arguments of Host and
// HostSNI, which older rules may have several of, and of HostHeader, the older name
// of Host. Hosts negated with "!" are left out. For HostRegexp and HostSNIRegexp it
// returns the call itself, which is not a valid host, and for a rule that cannot be
// parsed, a text that begins with unreadRule.
//
// A rule is a Go expression, which Traefik parses with Go's own parser. So blanks,
// comments, and both kinds of string literals are as in Go.
func traefikHosts(rule string) []string {
	if strings.TrimSpace(rule) == "" {
		return nil
	}
	if len(rule) > longestRule {
		return []string{unreadRule + "of " + strconv.Itoa(len(rule)>>10) + " KiB"}
	}
	w := hostCollector{text: rule}
	expr, err := parser.ParseExpr(rule)
	if err != nil || !w.collect(expr, false) {
		return []string{unreadRule + strconv.Quote(rule)}
	}
	return w.found
}

// hostCollector collects the hosts in a rule.
type hostCollector struct {
	text  string
	found []string
	// arguments is true to collect the expressions of HostRegexp instead of the call.
	arguments bool
}

// collect visits a part of a rule; not is true if it is negated. It reports whether
// the part is valid in a rule.
func (w *hostCollector) collect(e ast.Expr, not bool) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.collect(e.X, not)
	case *ast.UnaryExpr:
		return e.Op == token.NOT && w.collect(e.X, !not)
	case *ast.BinaryExpr:
		return (e.Op == token.LAND || e.Op == token.LOR) && w.collect(e.X, not) && w.collect(e.Y, not)
	case *ast.CallExpr:
		return w.matcher(e, not)
	}
	return false
}

// matcher visits a call. Traefik ignores the case of its name.
func (w *hostCollector) matcher(call *ast.CallExpr, not bool) bool {
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return false
	}
	var values []string
	for _, arg := range call.Args {
		literal, ok := arg.(*ast.BasicLit)
		if !ok {
			return false
		}
		if literal.Kind != token.STRING {
			continue // an argument of a matcher without hosts
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			return false
		}
		values = append(values, value)
	}
	if not {
		return true
	}
	switch strings.ToLower(name.Name) {
	case "host", "hostsni", "hostheader":
		w.found = append(w.found, values...)
	case "hostregexp", "hostsniregexp":
		if w.arguments {
			w.found = append(w.found, values...)
			break
		}
		// The parser counts positions from one.
		w.found = append(w.found, w.text[call.Pos()-1:call.End()-1])
	}
	return true
}

// entryPoints returns the entry points at which an IngressRouteTCP takes every
// connection. A router that names none is at every entry point.
//
// Traefik keeps the routers of connections with TLS apart from the others
// (pkg/server/router/tcp). Each Traefik reads the objects of one class, by the older
// annotation; without one, or with the value traefik, they are the default's
// (pkg/provider/kubernetes/crd). That a rule also asks for a client's address or
// protocol is not read.
//
// HostSNI(`*`) comes after the routers of HTTP with TLS. An expression that every name
// matches comes before them, like any other router of TCP with TLS.
func entryPoints(object map[string]any, expression bool) (bindings []snapshot.Binding, unread []string) {
	at, err := entryPointsOf(object)
	if err != nil {
		return nil, []string{err.Error()}
	}
	lane := snapshot.Lane{Prefix: "tcp "}
	if _, tls, _ := unstructured.NestedFieldNoCopy(object, "spec", "tls"); tls {
		lane.Prefix = "tls "
		if expression {
			lane.Rank = snapshot.RankOfTCP
		}
	}
	for i := range at {
		at[i].Lanes = []snapshot.Lane{lane}
	}
	return at, nil
}

// everyName reports whether a value is a matcher that traefikHosts returns as it is
// written, and matches every name.
func everyName(value string) bool {
	return isTraefikExpression(value) && slices.ContainsFunc(traefikExpressions(value), func(e snapshot.HostExpression) bool {
		re, err := expression.Parse(e.Text, e.Whole)
		return err == nil && re.EveryHost()
	})
}

// entryPointsOf returns the entry points of the routers of an object, one without a name
// for all of them.
func entryPointsOf(object map[string]any) (at []snapshot.Binding, err error) {
	named, _, err := unstructured.NestedStringSlice(object, "spec", "entryPoints")
	switch {
	case err != nil:
		return nil, errors.New("entry points that are not a list of texts")
	case len(named) > maxBindings:
		return nil, fmt.Errorf("more than %d entry points", maxBindings)
	case len(named) == 0:
		named = []string{""}
	}
	class, _, _ := unstructured.NestedString(object, "metadata", "annotations", "kubernetes.io/ingress.class")
	if class = clean(class); class == "traefik" {
		class = ""
	}
	for _, name := range named {
		at = append(at, snapshot.Binding{EntryPoint: clean(name), Class: class})
	}
	return at, nil
}

// isTraefikExpression reports whether a value is a matcher that traefikHosts returns as it
// is written.
func isTraefikExpression(value string) bool {
	name, _, ok := strings.Cut(value, "(")
	name = strings.ToLower(strings.TrimSpace(name))
	return ok && (name == "hostregexp" || name == "hostsniregexp")
}

// traefikExpressions returns the expressions of such a matcher. If it cannot be read, the
// whole of it is an expression that cannot be read either.
func traefikExpressions(matcher string) (out []snapshot.HostExpression) {
	w := hostCollector{text: matcher, arguments: true}
	expr, err := parser.ParseExpr(matcher)
	if err != nil || !w.collect(expr, false) {
		return []snapshot.HostExpression{snapshot.NewHostExpression("(", Printable(matcher), snapshot.FromHostSource)}
	}
	for _, text := range w.found {
		out = append(out, snapshot.NewHostExpression(traefikExpression(text), Printable(matcher), snapshot.FromHostSource))
	}
	return out
}

// traefikExpression returns the expression of HostRegexp. Since version 3 it is one of
// Go, which matches any part of the host. Before, and still where a router asks for the
// older syntax, it is a template that matches the whole host: what is in braces is a name,
// a colon and an expression, or a name alone for one label, and the rest is literal. Which
// version reads it is not known, so it matches what either does.
func traefikExpression(text string) string {
	template, ok := templateExpression(text)
	_, err := syntax.Parse(text, syntax.Perl)
	switch {
	case !ok:
		return text
	case err != nil:
		return template
	}
	return "(?:" + text + ")|" + template
}

// templateExpression returns the expression of a template, and false if the text is none.
func templateExpression(text string) (string, bool) {
	var out strings.Builder
	out.WriteString("^(?:")
	found := false
	for {
		literal, rest, ok := strings.Cut(text, "{")
		out.WriteString(regexp.QuoteMeta(literal))
		if !ok {
			break
		}
		end := closingBrace(rest)
		if end < 0 {
			return "", false
		}
		_, pattern, named := strings.Cut(rest[:end], ":")
		if !named {
			pattern = "[^.]+"
		}
		if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
			return "", false
		}
		out.WriteString("(?:" + pattern + ")")
		found, text = true, rest[end+1:]
	}
	out.WriteString(")$")
	return out.String(), found
}

// closingBrace returns the index of the brace that closes the one before the text, or -1.
func closingBrace(text string) int {
	level := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			level++
		case '}':
			if level--; level == 0 {
				return i
			}
		}
	}
	return -1
}

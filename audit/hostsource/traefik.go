package hostsource

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// traefikHosts returns the hosts in a Traefik rule: the arguments of Host and
// HostSNI, which older rules may have several of, and of HostHeader, the older name
// of Host. Hosts negated with "!" are left out. For HostRegexp and HostSNIRegexp it
// returns the call itself, which is not a valid host, and for a rule that Traefik
// cannot parse, the rule.
//
// A rule is a Go expression, which Traefik parses with Go's own parser. So blanks,
// comments, and both kinds of string literals are as in Go.
func traefikHosts(rule string) []string {
	if strings.TrimSpace(rule) == "" {
		return nil
	}
	if len(rule) > longestRule {
		return []string{"a rule of " + strconv.Itoa(len(rule)>>10) + " KiB"}
	}
	w := hostCollector{text: rule}
	expr, err := parser.ParseExpr(rule)
	if err != nil || !w.collect(expr, false) {
		return []string{"rule " + strconv.Quote(rule)}
	}
	return w.found
}

// hostCollector collects the hosts in a rule.
type hostCollector struct {
	text  string
	found []string
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
// protocol is not read. What cannot be read is returned as a text that is not a host.
func entryPoints(object map[string]any) (bindings []snapshot.Binding, unreadable []string) {
	named, _, err := unstructured.NestedStringSlice(object, "spec", "entryPoints")
	switch {
	case err != nil:
		return nil, []string{"entry points that are not a list of texts"}
	case len(named) > maxBindings:
		return nil, []string{fmt.Sprintf("more than %d entry points", maxBindings)}
	case len(named) == 0:
		named = []string{""}
	}
	class, _, _ := unstructured.NestedString(object, "metadata", "annotations", "kubernetes.io/ingress.class")
	if class = clean(class); class == "traefik" {
		class = ""
	}
	lane := snapshot.Lane{Prefix: "tcp "}
	if _, tls, _ := unstructured.NestedFieldNoCopy(object, "spec", "tls"); tls {
		lane.Prefix = "tls "
	}
	for _, name := range named {
		bindings = append(bindings, snapshot.Binding{EntryPoint: clean(name), Class: class, Lanes: []snapshot.Lane{lane}})
	}
	return bindings, nil
}

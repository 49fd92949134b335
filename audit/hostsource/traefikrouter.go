package hostsource

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/eventuallytrue/audit/rules/hosts/expression"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxAlternatives is how many alternatives of a rule are told apart. A rule with more may
// take every host.
const maxAlternatives = 1000

// httpEntryPoints returns the entry points of the routers of an IngressRoute, with what
// they take there of every host, and the lowest priority of a router for each host.
//
// A rule takes every host if one of its alternatives has no condition on the host, or one
// that every host meets, or only negated ones. Of the other conditions, those on the path
// are read: that a client, a method, a header or a query tells requests apart cannot be
// shown. The priority is the length of the rule, unless the route sets one (Traefik,
// routers: priority; pkg/muxer/http, GetRulePriority). Routers with TLS and without are
// not kept apart, because an entry point may add it to all.
func httpEntryPoints(object map[string]any) (bindings []snapshot.Binding, ranks map[string]int, unread []string) {
	at, err := entryPointsOf(object)
	if err != nil {
		return nil, nil, []string{err.Error()}
	}
	routes, _, _ := unstructured.NestedSlice(object, "spec", "routes")
	ranks = map[string]int{}
	var lanes []snapshot.Lane
	for _, r := range routes {
		route, _ := r.(map[string]any)
		rule, _ := route["match"].(string)
		alternatives, ok := readRule(rule)
		if !ok {
			continue // reported by traefikHosts
		}
		rank := priority(route, rule)
		for _, a := range alternatives {
			if a.everyHost() {
				lanes = append(lanes, snapshot.Lane{Prefix: "http " + strings.Clone(a.path), Rank: rank})
			}
			for _, host := range a.hosts {
				key := strings.ToLower(strings.TrimSpace(host))
				if was, ok := ranks[key]; !ok || rank < was {
					ranks[strings.Clone(key)] = rank
				}
			}
		}
	}
	slices.SortFunc(lanes, compareLanes)
	lanes = slices.Compact(lanes)
	if len(lanes) > maxLanes {
		all := snapshot.Lane{Prefix: "http "}
		for _, l := range lanes {
			all.Rank = max(all.Rank, l.Rank)
		}
		lanes = []snapshot.Lane{all}
	}
	for i := range at {
		at[i].Lanes = lanes
	}
	return at, ranks, nil
}

// priority returns the priority of a route.
func priority(route map[string]any, rule string) int {
	switch p := route["priority"].(type) {
	case int64:
		if p != 0 {
			return int(p)
		}
	case float64:
		if p != 0 {
			return int(max(min(p, 1<<53), -1<<53))
		}
	}
	return len(rule)
}

// alternative is conditions of a rule all of which a request must meet.
type alternative struct {
	hosts   []string
	pattern bool   // whether there is a condition on the host that not every host meets
	path    string // what the path begins with
}

func (a *alternative) everyHost() bool { return len(a.hosts) == 0 && !a.pattern }

// readRule returns the alternatives of a rule. It fails if the rule cannot be parsed.
func readRule(rule string) ([]alternative, bool) {
	if strings.TrimSpace(rule) == "" || len(rule) > longestRule {
		return nil, false
	}
	expr, err := parser.ParseExpr(rule)
	if err != nil {
		return nil, false
	}
	return alternatives(expr, false)
}

// alternatives returns those of a part of a rule; not is true if it is negated.
func alternatives(e ast.Expr, not bool) ([]alternative, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return alternatives(e.X, not)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return alternatives(e.X, !not)
		}
	case *ast.BinaryExpr:
		a, okA := alternatives(e.X, not)
		b, okB := alternatives(e.Y, not)
		switch {
		case !okA || !okB || e.Op != token.LAND && e.Op != token.LOR:
			return nil, false
		case (e.Op == token.LOR) != not:
			return either(a, b), true
		case len(a)*len(b) > maxAlternatives:
			return []alternative{{}}, true
		}
		var out []alternative
		for i := range a {
			for j := range b {
				out = append(out, a[i].and(&b[j]))
			}
		}
		return out, true
	case *ast.CallExpr:
		return matcherAlternative(e, not)
	}
	return nil, false
}

// either returns the alternatives of two parts one of which has to be met. Those that
// differ only in their hosts become one.
func either(a, b []alternative) []alternative {
	for _, y := range b {
		i := slices.IndexFunc(a, func(x alternative) bool { return x.path == y.path && x.everyHost() == y.everyHost() })
		switch {
		case i < 0 && len(a) == maxAlternatives:
			return []alternative{{}}
		case i < 0:
			a = append(a, y)
		default:
			a[i].hosts, a[i].pattern = append(a[i].hosts, y.hosts...), a[i].pattern || y.pattern
		}
	}
	return a
}

// and returns what meets both. Of two conditions on the host the first is kept.
func (a *alternative) and(b *alternative) alternative {
	out := alternative{hosts: slices.Clone(a.hosts), pattern: a.pattern || b.pattern, path: a.path}
	if len(out.hosts) == 0 {
		out.hosts = slices.Clone(b.hosts)
	}
	if len(b.path) > len(a.path) {
		out.path = b.path
	}
	return out
}

// matcherAlternative returns the condition of one matcher.
func matcherAlternative(call *ast.CallExpr, not bool) ([]alternative, bool) {
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return nil, false
	}
	var values []string
	for _, arg := range call.Args {
		if literal, ok := arg.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if value, err := strconv.Unquote(literal.Value); err == nil {
				values = append(values, value)
			}
		}
	}
	var a alternative
	switch matcher := strings.ToLower(name.Name); {
	case not:
	case matcher == "host", matcher == "hostheader":
		a.hosts = values
	case matcher == "hostregexp":
		a.pattern = !slices.ContainsFunc(values, matchesEveryHost)
	case len(values) != 1: // the older syntax, in which one of several values has to match
	case matcher == "path" && !strings.Contains(values[0], "{"):
		a.path = values[0] + snapshot.EndOfLane
	case matcher == "path", matcher == "pathprefix":
		a.path, _, _ = strings.Cut(values[0], "{")
	case matcher == "pathregexp" && len(values[0]) <= maxExpression:
		if text, ok := strings.CutPrefix(values[0], "^"); ok {
			if re, err := regexp.Compile(text); err == nil {
				a.path, _ = re.LiteralPrefix()
			}
		}
	}
	return []alternative{a}, true
}

func matchesEveryHost(text string) bool {
	e, err := expression.Parse(traefikExpression(text), false)
	return err == nil && e.EveryHost()
}

// Package hostsource reads the hosts that objects claim, by CEL expressions: for
// kinds that differ from cluster to cluster and are therefore configured. BuiltIn
// has the kinds that need no configuration.
//
// A Source describes one kind. It knows nothing about API servers, manifests and
// owners: package ingest turns what it returns into facts, and rules evaluate those.
package hostsource

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Source is a kind whose objects claim hosts, and how to read the hosts.
type Source struct {
	Kind snapshot.Kind
	// Object is the kind as in its objects, such as "VirtualService".
	Object string
	// Versions are the API versions that the expression supports, in order of
	// preference. A cluster serves the same objects in each of them, so only one is
	// read.
	Versions []string
	Hosts    Expression
	// Deep is true if a wildcard covers any number of labels, not just one.
	Deep bool
	// BuiltIn is true of a source that is not configured: if a cluster does not
	// serve its kind, that is not reported.
	BuiltIn bool
	// Fields are the fields that decide what an object claims, such as "spec.hosts",
	// so that managed fields show since when at the latest. "metadata.name" never
	// changes. If there are none, it may be any field.
	Fields []string
	// Unread is true of a source that is off: objects of its kind are counted, and the
	// report says that they were not read.
	Unread bool
	// Proxies says what else a built-in source reads: at which proxies an object claims
	// its hosts, and what it takes there if it asks for every host.
	Proxies Proxies
	// Copies is true of the built-in source of OpenShift's Routes: by their marks some of
	// them repeat the claim of another object, or solve ACME challenges.
	Copies bool
}

// Proxies are the proxies that objects name.
type Proxies string

// The values of Proxies.
const (
	NoProxies       Proxies = ""
	IstioGateways   Proxies = "gateways of Istio"
	TCPEntryPoints  Proxies = "entry points of Traefik for TCP"
	HTTPEntryPoints Proxies = "entry points of Traefik for HTTP"
)

// Claims are the hosts that an object claims.
type Claims struct {
	Hosts []snapshot.HostPattern // sorted, each once, none empty
	// Expressions are the regular expressions that claim hosts, sorted by their text.
	Expressions []snapshot.HostExpression
	// Invalid are the first few values that are not hosts, sorted.
	Invalid []string
	// Unread are the first few values that may claim hosts but can't be read, sorted.
	Unread []string
	// Bindings are the proxies that the object names.
	Bindings []snapshot.Binding
	// Solver is true if the object has the marks of a solver of ACME challenges.
	Solver bool
	// CopyOf is the object whose claim it repeats by its marks, or nil.
	CopyOf *snapshot.Ref
}

// Read returns what an object, decoded from JSON, claims. It fails if the expression
// does, and with the cause of the context if that has ended.
func (s *Source) Read(ctx context.Context, object map[string]any) (Claims, error) {
	values, err := s.Hosts.Eval(ctx, object)
	if err != nil {
		return Claims{}, err
	}
	var bindings []snapshot.Binding
	var more, unread []string
	var ranks map[string]int
	switch s.Proxies {
	case HTTPEntryPoints:
		bindings, ranks, unread = httpEntryPoints(object)
	case IstioGateways:
		bindings, more, unread = istioBindings(object)
	case TCPEntryPoints:
		expression := slices.ContainsFunc(values, everyName)
		if expression || slices.Contains(values, everyHost) {
			bindings, unread = entryPoints(object, expression)
		}
	}
	c := s.claims(append(values, more...), unread)
	c.Bindings = bindings
	for i := range c.Hosts {
		c.Hosts[i].Rank = ranks[strings.ToLower(c.Hosts[i].Host)]
	}
	if s.Copies {
		c.Solver, c.CopyOf = openshiftMarks(object)
	}
	return c, nil
}

// everyHost is the host that stands for all hosts.
const everyHost = "*"

// claims separates hosts and expressions from other values. It copies them, because a
// part of a long text would keep all of it in memory.
func (s *Source) claims(values, unread []string) Claims {
	c := Claims{Unread: unread}
	for _, value := range values {
		value = strings.TrimSpace(value)
		host := hostWithoutPort(value)
		expression, marked := strings.CutPrefix(value, "~")
		switch {
		case value == "":
		case strings.HasPrefix(value, unreadRule):
			c.Unread = append(c.Unread, Printable(value))
		case strings.HasPrefix(host, ".*"):
			// No name begins with a dot, so this is no glob.
			c.Expressions = append(c.Expressions, snapshot.NewHostExpression(host, value, snapshot.FromHostSource))
		case IsGlob(host):
			c.Expressions = append(c.Expressions, Glob(host, snapshot.FromHostSource))
		case IsHost(host):
			c.Hosts = append(c.Hosts, s.pattern(strings.Clone(host)))
		case isTraefikExpression(value):
			c.Expressions = append(c.Expressions, traefikExpressions(value)...)
		case marked, isExpression(value):
			c.Expressions = append(c.Expressions, snapshot.NewHostExpression(expression, value, snapshot.FromHostSource))
		default:
			c.Invalid = append(c.Invalid, Printable(value))
		}
	}
	slices.SortFunc(c.Hosts, comparePatterns)
	c.Hosts = slices.Compact(c.Hosts)
	slices.SortStableFunc(c.Expressions, func(a, b snapshot.HostExpression) int { return strings.Compare(a.Text, b.Text) })
	c.Expressions = slices.CompactFunc(c.Expressions, func(a, b snapshot.HostExpression) bool { return a.Text == b.Text && a.Whole == b.Whole })
	if len(c.Expressions) > MaxExpressions {
		c.Expressions = c.Expressions[:MaxExpressions]
		c.Unread = append(c.Unread, fmt.Sprintf("more than %d regular expressions", MaxExpressions))
	}
	c.Invalid, c.Unread = firstFew(c.Invalid), firstFew(c.Unread)
	return c
}

// firstFew sorts values and returns the first few of them.
func firstFew(values []string) []string {
	slices.Sort(values)
	values = slices.Compact(values)
	return values[:min(len(values), maxInvalid)]
}

// maxInvalid is how many invalid values are kept.
const maxInvalid = 3

// Printable returns a value so that people can see what it is.
func Printable(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		value = strconv.Quote(value)
	}
	return clean(value)
}

// pattern returns the pattern of a host. Traefik writes a wildcard that covers any
// number of labels with two asterisks.
func (s *Source) pattern(host string) snapshot.HostPattern {
	if rest, ok := strings.CutPrefix(host, "**."); ok {
		return snapshot.HostPattern{Host: "*." + rest, Deep: true}
	}
	return snapshot.HostPattern{Host: host, Deep: s.Deep && strings.HasPrefix(host, "*.")}
}

func comparePatterns(a, b snapshot.HostPattern) int {
	if c := strings.Compare(a.Host, b.Host); c != 0 || a.Deep == b.Deep {
		return c
	}
	if b.Deep {
		return -1
	}
	return 1
}

// longestHost is the maximum number of characters in a host.
const longestHost = 253

// IsHost reports whether a text can be a host, with or without a wildcard: a name
// made of labels, possibly not ASCII, or an address. Anything else, such as a port,
// a path or a regular expression, cannot be compared with the hosts of other
// objects.
func IsHost(text string) bool {
	if utf8.RuneCountInString(text) > longestHost {
		return false
	}
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case strings.ContainsRune("-_.*", r):
		case r >= utf8.RuneSelf && unicode.IsGraphic(r) && !unicode.IsSpace(r):
		default:
			_, err := netip.ParseAddr(text)
			return err == nil
		}
	}
	return true
}

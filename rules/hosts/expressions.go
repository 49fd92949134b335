package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts/expression"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// A regular expression that stands for a few names is a claim to each of them. A wider
// one is compared with what others claim: a host or a wildcard whose names it takes. Where
// the controller serves every exact name first, that is an advisory, as of a wildcard;
// elsewhere it is a contest of the host. Two owners of one text contest that.

// The budget of one namespace. Without one, whoever may create objects could make the
// comparison take hours: it grows with the number of expressions times that of hosts.
const (
	// maxSteps is the size of expressions times the number of hosts that they are
	// compared with. So much takes about a second.
	maxSteps = 10_000_000
	// maxMatches is how many hosts of others the expressions may match.
	maxMatches = 10_000
	// maxExpandedNames is for how many names the expressions may stand.
	maxExpandedNames = 10_000
)

// expressions are the regular expressions by which objects claim hosts.
type expressions struct {
	*claims
	parsed map[parsedKey]parsed
	wide   []*wideClaim
	spent  map[string]*budget // by namespace
	unread []snapshot.Fault
}

type parsedKey struct {
	text  string
	whole bool
}

type parsed struct {
	*expression.Expression
	err error
}

// wideClaim is a claim by an expression that is wider than its names.
type wideClaim struct {
	claim  // of the expression itself
	parsed *expression.Expression
	yields bool
}

type budget struct{ steps, matches, names int }

// parse reads an expression, each text once.
func (x *expressions) parse(e *snapshot.HostExpression) (*expression.Expression, error) {
	key := parsedKey{e.Text, e.Whole}
	known, ok := x.parsed[key]
	if !ok {
		known.Expression, known.err = expression.Parse(e.Text, e.Whole)
		if x.parsed == nil {
			x.parsed, x.spent = map[parsedKey]parsed{}, map[string]*budget{}
		}
		x.parsed[key] = known
	}
	return known.Expression, known.err
}

func (x *expressions) budget(namespace string) *budget {
	b := x.spent[namespace]
	if b == nil {
		b = &budget{}
		x.spent[namespace] = b
	}
	return b
}

// cannotRead notes that it is not known which hosts an object claims by an expression.
func (x *expressions) cannotRead(object *snapshot.Meta, spelling, why string) {
	x.unread = append(x.unread, snapshot.Fault{
		Ref: object.Ref(), Resource: object.Resource(), Reason: fmt.Sprintf("the regular expression %s was not evaluated: %s", quoted(spelling), why),
	})
}

// add records the claims of an expression to the names that it stands for. One
// that is wider is compared once all claims are known. It returns the expression if it
// matches every host, which the caller knows better what to do with, or nil.
func (x *expressions) add(e *snapshot.HostExpression, object *snapshot.Meta, owner rules.Owner, class string) *expression.Expression {
	re, err := x.parse(e)
	if err != nil {
		x.cannotRead(object, e.Spelling, err.Error())
		return nil
	}
	set := e.Set
	if e.Source == snapshot.FromHostSource {
		set = object.HostsSet
	}
	spent := x.budget(object.Namespace)
	for _, name := range re.Names() {
		host := Normalize(name)
		if !isName(host) {
			continue
		}
		if spent.names++; spent.names > maxExpandedNames {
			x.cannotRead(object, e.Spelling, fmt.Sprintf("those of its namespace stand for more than %d names", maxExpandedNames))
			return nil
		}
		made := x.claims.add(host, object, owner, e.Source, set, class)
		made.expression = e.Spelling
	}
	switch {
	case !re.Wider():
	case re.EveryHost():
		return re
	default:
		x.addWide(e, re, object, owner, class)
	}
	return nil
}

func (x *expressions) addWide(e *snapshot.HostExpression, re *expression.Expression, object *snapshot.Meta, owner rules.Owner, class string) {
	made := x.claims.add("~"+e.Text, object, owner, e.Source, e.Set, class)
	made.expression = e.Spelling
	x.wide = append(x.wide, &wideClaim{claim: *made, parsed: re, yields: e.Source.Yields()})
}

// isName reports whether a text that an expression stands for can be a host.
func isName(host string) bool {
	return host != "" && !strings.HasPrefix(host, ".") && !strings.Contains(host, "..") && !strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

// compare compares the wider expressions with the claims of others. It adds
// those to hosts that they contest, and returns an advisory for each host that they
// match where every exact name is served first.
func (x *expressions) compare() []rules.Advisory {
	if len(x.wide) == 0 {
		return nil
	}
	index := newHostIndex(x.claims)
	contests, yielding := map[string][]*claim{}, map[string][]*claim{}
	for _, w := range x.wide {
		spent := x.budget(w.object.Namespace)
		found, ok := index.matches(x.claims, w, spent)
		for _, host := range found {
			if w.yields {
				yielding[host] = append(yielding[host], &w.claim)
			} else {
				made := w.claim
				made.host = host
				contests[host] = append(contests[host], &made)
			}
		}
		if !ok {
			x.cannotRead(w.object, w.expression, "those of its namespace are too many, or match too many hosts of others, to be compared with all")
		}
	}
	for host, list := range contests {
		x.byHost[host] = append(x.byHost[host], list...)
	}
	var out []rules.Advisory
	for _, host := range slices.Sorted(maps.Keys(yielding)) {
		out = append(out, matchedHost(host, x.byHost[host], yielding[host]))
	}
	return out
}

func matchedHost(host string, claimed, by []*claim) rules.Advisory {
	over, list := newListing(by), newListing(claimed)
	first := oldestFirst(by)[0]
	return rules.Advisory{
		Subject: rules.Subject{Kind: rules.SubjectHost, Name: host},
		Owners:  slices.Concat(over.owners, list.owners),
		Message: fmt.Sprintf("the regular expression %s of %s matches %s", quoted(first.expression), first.object.Ref(), host) + unlisted(over.more || list.more),
		Objects: slices.Concat(over.objects, list.objects),
	}
}

// hostIndex finds the claimed hosts that end with a text, without comparing each.
type hostIndex struct {
	exact    []indexedHost // sorted by how they are spelled backwards
	wildcard []string      // sorted
}

type indexedHost struct{ backwards, host string }

func newHostIndex(c *claims) *hostIndex {
	x := &hostIndex{}
	for host := range c.byHost {
		switch {
		case isCatchAll(host), isExpression(host):
		case IsWildcard(host):
			x.wildcard = append(x.wildcard, host)
		default:
			x.exact = append(x.exact, indexedHost{reverse(host), host})
		}
	}
	slices.SortFunc(x.exact, func(a, b indexedHost) int { return strings.Compare(a.backwards, b.backwards) })
	slices.Sort(x.wildcard)
	return x
}

// matches returns the hosts and wildcards of other owners that an expression takes, and
// whether the budget was enough to find them all. Where wildcards are served first as
// well, they are not compared.
func (x *hostIndex) matches(c *claims, w *wideClaim, spent *budget) (found []string, complete bool) {
	suffix := reverse(w.parsed.Suffix())
	from, _ := slices.BinarySearchFunc(x.exact, suffix, func(h indexedHost, text string) int { return strings.Compare(h.backwards, text) })
	for _, h := range x.exact[from:] {
		if !strings.HasPrefix(h.backwards, suffix) {
			break
		}
		if spent.steps += w.parsed.Size(); spent.steps > maxSteps {
			return found, false
		}
		if !w.parsed.Matches(h.host) || !w.foreignIn(c.byHost[h.host]) {
			continue
		}
		if spent.matches++; spent.matches > maxMatches {
			return found, false
		}
		found = append(found, h.host)
	}
	if w.yields {
		return found, true
	}
	for _, wildcard := range x.wildcard {
		if spent.steps += 2 * w.parsed.Size(); spent.steps > maxSteps {
			return found, false
		}
		if w.foreignIn(c.byHost[wildcard]) && w.parsed.EveryHostBelow(wildcard) {
			found = append(found, wildcard)
		}
	}
	return found, true
}

// foreignIn reports whether the claims have another owner than the expression. An object
// that claims the host beside its expression claims it already.
func (w *wideClaim) foreignIn(list []*claim) bool {
	foreign := false
	for _, c := range list {
		if c.object == w.object {
			return false
		}
		foreign = foreign || !c.owner.Is(*w.owner)
	}
	return foreign
}

// reverse spells a host backwards. It is in ASCII, or not valid.
func reverse(host string) string {
	b := []byte(host)
	slices.Reverse(b)
	return string(b)
}

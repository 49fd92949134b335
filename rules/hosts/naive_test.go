package hosts_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// naive evaluates a sketch by comparing everything with everything else. It compares
// hosts by what they match: it has a list of names, and a pattern is the set
// of those that it covers.
type naive struct {
	*sketch
	claims   []naiveClaim
	attached []naiveAttachment
}

// naiveAttachment says that an object claims a host through a Gateway that it names.
type naiveAttachment struct{ object, host, namespace string }

type naiveClaim struct {
	host, object, owner string
	named               string // the owner if what objects say is believed
	deep                bool
	lasts               bool // it will not be gone soon
	solver              bool
}

func (s *sketch) naive() *naive {
	n := &naive{sketch: s}
	for _, p := range s.Parents {
		gateway := n.gatewayOf(p)
		for _, l := range p.Listeners {
			if gateway == nil {
				continue
			}
			here := n.stays(gateway.ID, gateway.Deletion) && n.stays(p.ID, p.Deletion)
			if p.ID.Kind != "Gateway" && plain(l.Hostname) != "" && l.Protocol != "TCP" {
				n.claim(p.ID, plain(l.Hostname), true, here, false)
				n.attach(p.ID, plain(l.Hostname), gateway.ID)
			}
			for _, r := range s.Routes {
				if !n.meets(r, p, l) {
					continue
				}
				for _, host := range shared(r.Hostnames, l) {
					if host == "" {
						host = fmt.Sprintf("* (gateway %s/%s) %d", gateway.ID.Namespace, gateway.ID.Name, l.Port)
					}
					n.claim(r.ID, host, true, here && n.stays(r.ID, r.Deletion), r.Solver)
					if r.names(p, l) {
						n.attach(r.ID, host, gateway.ID)
					}
				}
			}
		}
	}
	for _, i := range s.Ingresses {
		for _, h := range i.Hosts {
			if h = plain(h); h == "" {
				h = fmt.Sprintf("* (class %s)", i.Class)
			}
			n.claim(i.ID, h, false, n.stays(i.ID, i.Deletion), i.Solver)
		}
	}
	n.dropSolvers()
	return n
}

func (n *naive) attach(id sketchID, host string, gateway sketchID) {
	n.attached = append(n.attached, naiveAttachment{id.line(), host, gateway.Namespace})
}

// dropSolvers removes the claims of solvers whose namespace holds the host.
func (n *naive) dropSolvers() {
	all := slices.Clone(n.claims)
	n.claims = slices.DeleteFunc(n.claims, func(s naiveClaim) bool {
		if !s.solver {
			return false
		}
		at, _, _ := strings.Cut(strings.Fields(s.object)[1], "/")
		for _, other := range all {
			if other.solver || !sameProxy(other.host, s.host) {
				continue
			}
			if slices.ContainsFunc(n.attached, func(a naiveAttachment) bool {
				return a.object == other.object && sameProxy(a.host, s.host) && a.namespace == at
			}) {
				return true
			}
			// It has the host on each port on which the solver has it.
			inside, _, _ := strings.Cut(strings.Fields(other.object)[1], "/")
			if inside == at && !slices.ContainsFunc(all, func(c naiveClaim) bool {
				return c.object == s.object && sameProxy(c.host, s.host) && !slices.ContainsFunc(all, func(o naiveClaim) bool {
					return o.object == other.object && o.host == c.host
				})
			}) {
				return true
			}
		}
		return false
	})
}

func (id sketchID) line() string { return fmt.Sprintf("%s %s/%s", id.Kind, id.Namespace, id.Name) }

// stays reports whether an object will not be gone soon.
func (n *naive) stays(id sketchID, own deletionAge) bool {
	if own == notDeleted {
		for _, ns := range n.Namespaces {
			if ns.Name == id.Namespace {
				own = ns.Deletion
			}
		}
	}
	return own != fresh
}

// claim adds a claim that is made in one way. Made in several, it lasts as long as the
// last of them, on whatever port.
func (n *naive) claim(id sketchID, host string, deep, lasts, solver bool) {
	owner := "nobody in " + id.Namespace
	named := owner
	if signed := n.Signed[id]; signed != "" {
		owner, named = signed+", says "+id.Namespace, signed
	}
	for _, ns := range n.Namespaces {
		if ns.Name == id.Namespace && ns.Owner != "" {
			owner, named = ns.Owner, ns.Owner
		}
	}
	c := naiveClaim{host, id.line(), owner, named, deep, lasts, solver}
	for i := range n.claims {
		if same := &n.claims[i]; same.object == c.object && sameProxy(same.host, host) {
			same.lasts = same.lasts || lasts
			c.lasts = same.lasts
		}
	}
	if !slices.Contains(n.claims, c) {
		n.claims = append(n.claims, c)
	}
}

// sameProxy reports whether two hosts are one, apart from the port of a catch-all.
func sameProxy(a, b string) bool {
	a, _, _ = strings.Cut(a, ") ")
	b, _, _ = strings.Cut(b, ") ")
	return a == b
}

// gatewayOf returns the Gateway that serves the listeners of a parent.
func (n *naive) gatewayOf(p sketchParent) *sketchParent {
	if p.ID.Kind == "Gateway" {
		return &p
	}
	for _, g := range n.Parents {
		if g.ID == p.Gateway && g.ID.Kind == "Gateway" && n.admitted(g.Admits, g.ID.Namespace, p.ID.Namespace) {
			return &g
		}
	}
	return nil
}

// names reports whether the route names the listener of the parent.
func (r sketchRoute) names(p sketchParent, l sketchListener) bool {
	return slices.ContainsFunc(r.Parents, func(ref sketchRef) bool {
		return ref.ID == p.ID && (ref.Section == "" || ref.Section == l.Name) && (ref.Port == 0 || ref.Port == l.Port)
	})
}

// meets reports whether the route may attach to the listener of the parent.
func (n *naive) meets(r sketchRoute, p sketchParent, l sketchListener) bool {
	asked := r.Default && p.Default && p.ID.Kind == "Gateway" || r.names(p, l)
	var can string
	switch l.Protocol {
	case "HTTP", "HTTPS":
		can = "HTTPRoute GRPCRoute"
	case "TLS":
		can = "TLSRoute"
	case "example.com/own":
		if len(l.Kinds) > 0 {
			can = "HTTPRoute GRPCRoute TLSRoute"
		}
	}
	listed := len(l.Kinds) == 0 || slices.Contains(l.Kinds, r.ID.Kind)
	return asked && listed && strings.Contains(can, r.ID.Kind) && n.admitted(l.Admits, p.ID.Namespace, r.ID.Namespace)
}

func (n *naive) admitted(how, own, other string) bool {
	switch how {
	case "same":
		return own == other
	case "team-a":
		return other == "team-a"
	case "edge":
		return slices.ContainsFunc(n.Namespaces, func(ns sketchNamespace) bool { return ns.Name == other && ns.Edge })
	}
	return how != "none"
}

// plain normalizes the one odd spelling there is.
func plain(host string) string {
	if host == "A.X.test." {
		return "a.x.test"
	}
	return host
}

// shared returns the patterns that cover exactly what a hostname of the route and
// the listener both cover. No hostname means every name.
func shared(hostnames []string, l sketchListener) []string {
	listener := plain(l.Hostname)
	if l.Protocol == "TCP" {
		listener = ""
	}
	if len(hostnames) == 0 {
		hostnames = []string{""}
	}
	var out []string
	for _, h := range hostnames {
		var both []string
		for _, name := range covered(plain(h)) {
			if slices.Contains(covered(listener), name) {
				both = append(both, name)
			}
		}
		if len(both) == 0 {
			continue
		}
		for _, pattern := range []string{plain(h), listener} {
			if slices.Equal(covered(pattern), both) {
				out = append(out, pattern)
				break
			}
		}
	}
	return out
}

// covered returns the names that a pattern covers, of all that there are.
func covered(pattern string) []string {
	var out []string
	for _, name := range allNames() {
		labels, want := strings.Split(name, "."), strings.Split(pattern, ".")
		switch {
		case pattern == "":
		case want[0] == "*":
			if len(labels) < len(want) || !slices.Equal(labels[len(labels)-len(want)+1:], want[1:]) {
				continue
			}
		case name != pattern:
			continue
		}
		out = append(out, name)
	}
	return out
}

// allNames are enough names to distinguish all patterns.
func allNames() []string {
	return []string{"test", "x.test", "y.test", "a.x.test", "b.x.test", "a.a.x.test", "b.a.x.test", "c.b.a.x.test", "b.y.test", "myx.test", "other"}
}

// findings lists the contested hosts, a line for each.
func (n *naive) findings() []string {
	hosts := map[string][]naiveClaim{}
	for _, c := range n.claims {
		hosts[c.host] = append(hosts[c.host], c)
	}
	type verdict struct {
		objects             []string
		certain             bool // without what is about to go
		named, certainNamed bool // if the names of owners are believed
	}
	contested := map[string]*verdict{}
	several := func(list []naiveClaim, owner func(naiveClaim) string) bool {
		return slices.ContainsFunc(list, func(c naiveClaim) bool { return owner(c) != owner(list[0]) })
	}
	owner, named := func(c naiveClaim) string { return c.owner }, func(c naiveClaim) string { return c.named }
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		all := hosts[host]
		lasting := slices.DeleteFunc(slices.Clone(all), func(c naiveClaim) bool { return !c.lasts })
		if !several(all, owner) {
			continue
		}
		// The ports of a Gateway are one finding.
		at := host
		if i := strings.Index(host, ") "); i >= 0 {
			at = host[:i+1]
		}
		if contested[at] == nil {
			contested[at] = &verdict{}
		}
		v := contested[at]
		for _, c := range all {
			v.objects = append(v.objects, c.object)
		}
		v.certain = v.certain || several(lasting, owner)
		v.named = v.named || several(all, named)
		v.certainNamed = v.certainNamed || several(lasting, named)
	}
	lines := []string{}
	for _, host := range slices.Sorted(maps.Keys(contested)) {
		v := contested[host]
		slices.Sort(v.objects)
		word := "contested"
		if v.certain && !v.certainNamed || !v.certain && !v.named {
			word = "unverified"
		}
		lines = append(lines, findingLine(host, slices.Compact(v.objects), word, !v.certain))
	}
	return lines
}

func findingLine(host string, objects []string, verdict string, provisional bool) string {
	line := fmt.Sprintf("%s is %s <- %s", host, verdict, strings.Join(objects, ", "))
	if provisional {
		line += ", provisional"
	}
	return line
}

// coverings lists which wildcard of one owner covers which pattern of another.
func (n *naive) coverings() []string {
	lines := []string{}
	for _, w := range n.claims {
		for _, c := range n.claims {
			apart := strings.Count(c.host, ".") - strings.Count(w.host, ".")
			wide, narrow := covered(w.host), covered(c.host)
			covers := strings.HasPrefix(w.host, "*.") && !strings.HasPrefix(c.host, "* ") && w.host != c.host && len(narrow) > 0 &&
				!slices.ContainsFunc(narrow, func(name string) bool { return !slices.Contains(wide, name) })
			if covers && w.owner != c.owner && (w.deep || apart == 0 && !strings.HasPrefix(c.host, "*")) {
				lines = append(lines, fmt.Sprintf("%s covers %s", w.host, c.host))
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// evaluated returns the result of the rule for the sketch, in the same lines.
func (s *sketch) evaluated() (findings, coverings []string, err error) {
	rule := hosts.Rule()
	owner := func(m *snapshot.Meta) rules.Owner {
		o := rules.Owner{Namespace: m.Namespace}
		for _, ns := range s.Namespaces {
			if ns.Name == m.Namespace {
				o.Name = ns.Owner
			}
		}
		if signed := m.Owner.Value; o.Name == "" && signed != "" {
			o.Name, o.Unverified = signed, true
		}
		return o
	}
	view := s.snapshot().View(slices.Concat(rule.Needs, rule.Uses)...)
	res, err := rule.Run(rules.Input{Now: sketchNow(), View: view, Owner: owner})
	findings, coverings = []string{}, []string{}
	for _, v := range res.Violations {
		var objects []string
		for _, o := range v.Objects {
			objects = append(objects, o.Ref.String())
		}
		slices.Sort(objects)
		findings = append(findings, findingLine(v.Subject.Name, objects, v.Verdict, v.Provisional))
	}
	for _, a := range res.Advisories {
		if strings.Contains(a.Message, " covers ") {
			coverings = append(coverings, a.Message)
		}
	}
	slices.Sort(findings)
	slices.Sort(coverings)
	return findings, coverings, err
}

// differ returns how the rule and the naive evaluation differ.
func (s *sketch) differ() string {
	findings, coverings, err := s.evaluated()
	if err != nil {
		return err.Error()
	}
	n := s.naive()
	return cmp.Diff(n.findings(), findings) + cmp.Diff(n.coverings(), coverings)
}

// checkSketch compares the rule with the naive evaluation of a drawn cluster, and
// returns how many hosts are contested in it.
func checkSketch(t *rapid.T) int {
	s := drawSketch(t)
	if diff := s.differ(); diff != "" {
		t.Fatalf("the naive evaluation (-) and the rule (+) differ:\n%s\nin %+v", diff, s)
	}
	return len(s.naive().findings())
}

func TestHostsAgreeWithNaiveEvaluation(t *testing.T) {
	contested := 0
	for drawn := 0; drawn < 2000 && !t.Failed(); { // one check draws 100, or 20 with -short
		rapid.Check(t, func(t *rapid.T) {
			drawn++
			contested += checkSketch(t)
		})
	}
	// Clusters without conflicts would prove nothing.
	if contested < 500 {
		t.Errorf("only %d hosts were contested", contested)
	}
}

func FuzzHostsAgreeWithNaiveEvaluation(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkSketch(t) }))
}

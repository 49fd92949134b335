package hosts_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// findings says who is at odds, a line for each host.
func (n *naive) findings() []string {
	hosts := map[string][]naiveClaim{}
	for _, c := range n.claims {
		hosts[c.host] = append(hosts[c.host], c)
	}
	lines := []string{}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		var objects, owners []string
		for _, c := range hosts[host] {
			objects, owners = append(objects, c.object), append(owners, c.owner)
		}
		slices.Sort(objects)
		slices.Sort(owners)
		if len(slices.Compact(owners)) > 1 {
			lines = append(lines, fmt.Sprintf("%s <- %s", host, strings.Join(objects, ", ")))
		}
	}
	return lines
}

// coverings says which wildcard of one owner covers which pattern of another.
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

// judged says what the rule makes of the sketch, in the same lines.
func (s *sketch) judged() (findings, coverings []string, err error) {
	rule := hosts.Rule()
	owner := func(m *snapshot.Meta) rules.Owner {
		o := rules.Owner{Namespace: m.Namespace}
		for _, ns := range s.Namespaces {
			if ns.Name == m.Namespace {
				o.Name = ns.Owner
			}
		}
		return o
	}
	view := s.snapshot().View(slices.Concat(rule.Needs, rule.Uses)...)
	res, err := rule.Run(rules.Input{View: view, Owner: owner})
	findings, coverings = []string{}, []string{}
	for _, v := range res.Violations {
		var objects []string
		for _, o := range v.Objects {
			objects = append(objects, o.Ref.String())
		}
		slices.Sort(objects)
		findings = append(findings, fmt.Sprintf("%s <- %s", v.Subject.Name, strings.Join(objects, ", ")))
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

// differ returns how the rule and the naive judge differ.
func (s *sketch) differ() string {
	findings, coverings, err := s.judged()
	if err != nil {
		return err.Error()
	}
	n := s.naive()
	return cmp.Diff(n.findings(), findings) + cmp.Diff(n.coverings(), coverings)
}

// shrink takes away objects for as long as the judges still differ.
func (s sketch) shrink() sketch {
	for smaller := true; smaller; {
		smaller = false
		for _, t := range s.without() {
			if t.differ() != "" {
				s, smaller = t, true
				break
			}
		}
	}
	return s
}

// without returns the sketches that lack one object of this one.
func (s sketch) without() []sketch {
	var out []sketch
	for i := range s.Parents {
		t := s
		t.Parents = slices.Delete(slices.Clone(s.Parents), i, i+1)
		out = append(out, t)
	}
	for i := range s.Routes {
		t := s
		t.Routes = slices.Delete(slices.Clone(s.Routes), i, i+1)
		out = append(out, t)
	}
	for i := range s.Ingresses {
		t := s
		t.Ingresses = slices.Delete(slices.Clone(s.Ingresses), i, i+1)
		out = append(out, t)
	}
	return out
}

func checkSketch(t *testing.T, seed uint64) {
	t.Helper()
	s := drawSketch(seed)
	if s.differ() == "" {
		return
	}
	small := s.shrink()
	t.Fatalf("seed %d: the naive judge (-) and the rule (+) differ:\n%s\nin %+v", seed, small.differ(), small)
}

func TestHostsAgreeWithNaiveJudge(t *testing.T) {
	contested := 0
	for seed := range uint64(2000) {
		checkSketch(t, seed)
		s := drawSketch(seed)
		contested += len(s.naive().findings())
	}
	// Clusters in which nothing ever meets would prove nothing.
	if contested < 500 {
		t.Errorf("only %d hosts were contested", contested)
	}
}

func FuzzHostsAgreeWithNaiveJudge(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkSketch)
}

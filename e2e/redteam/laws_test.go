package redteam

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// play sweeps an attack and returns how it breaks the laws:
//
// A. No theft and no opening that persists over two sweeps ends without a finding that is
// open, or something of the attacker's that is named as not evaluated. No finding of it is
// resolved while it persists, unless the same sweep names what took it over as not evaluated.
//
// B. Nothing that the attacker has changes what is said about others, except for findings
// on what they claim themselves.
func (a *attack) play(t *testing.T) []string {
	t.Helper()
	var broken []string
	c := newCluster()
	for i, s := range a.steps {
		objects := a.world(s, true)
		res, _ := c.publish(t, of(objects), s.at)
		name(res, objects)
		for _, f := range a.affects(swept(t, a.world(s, false), s.at), res) {
			broken = append(broken, fmt.Sprintf("law B, sweep %d: %s", i+1, f))
		}
		if i == 0 {
			continue
		}
		for _, f := range a.unseen(i, res, c) {
			broken = append(broken, fmt.Sprintf("law A, sweep %d: %s", i+1, f))
		}
	}
	return broken
}

// unseen returns what law A demands of a sweep and is not there.
func (a *attack) unseen(i int, res *audit.Result, c *cluster) []string {
	before, now := a.steps[i-1], a.steps[i]
	var out []string
	if now.stolen && !named(res, now) {
		out = append(out, resolved(c, "one-owner-per-host", a.victim.host, "")...)
	}
	if before.stolen && now.stolen && !open(c, "one-owner-per-host", a.victim.host, "") && !named(res, now) {
		out = append(out, fmt.Sprintf("no finding on %s is open, and nothing of the attacker's is not evaluated", a.victim.host))
	}
	for d, opened := range a.opened {
		detail := []string{"Ingress", "Egress"}[d]
		if !opened {
			continue
		}
		if !named(res, now) {
			out = append(out, resolved(c, "default-deny-present", mallory, detail)...)
		}
		if i > 1 && !open(c, "default-deny-present", mallory, detail) && !named(res, now) && !doubted(res, snapshot.Direction(d)) {
			out = append(out, fmt.Sprintf("no finding on the %s of %s is open, and it was evaluated", detail, mallory))
		}
	}
	return out
}

// open reports whether a finding is stored as open. A finding on a catch-all stands for one
// on the hosts that the attacker's object comes before.
func open(c *cluster, rule, name, detail string) bool {
	for _, s := range c.store.by {
		if s.Rule != rule || s.State != audit.StateOpen {
			continue
		}
		exact := s.Subject.Name == name && (detail == "" || s.Subject.Detail == detail)
		before := slices.ContainsFunc(s.Objects, func(o rules.Object) bool {
			return o.Namespace == mallory && strings.Contains(o.Detail, name)
		})
		if exact || strings.HasPrefix(s.Subject.Name, "* (") && before {
			return true
		}
	}
	return false
}

// resolved names the findings that the last sweep resolved.
func resolved(c *cluster, rule, name, detail string) []string {
	var out []string
	for id, s := range c.store.by {
		was := c.last[id].State
		if s.Rule == rule && s.Subject.Name == name && (detail == "" || s.Subject.Detail == detail) && s.State == audit.StateResolved && was == audit.StateOpen {
			out = append(out, fmt.Sprintf("the finding on %s is resolved (%s)", s.Subject, s.Reason))
		}
	}
	return out
}

// named reports whether the sweep names an object that takes the host, or opens the
// namespace, as one that was not evaluated, and is incomplete because of it.
func named(res *audit.Result, s *step) bool {
	return slices.ContainsFunc(res.Failures(), func(f audit.Failure) bool {
		return slices.ContainsFunc(s.loot, func(o object) bool {
			return f.Where == o.id() || strings.Contains(f.Where, o.kind()+" "+mallory+"/"+o.name())
		})
	})
}

// item is how the source of manifests counts objects.
var item = regexp.MustCompile(`item (\d+)$`)

// name replaces the number of an object that could not be read by its name.
func name(res *audit.Result, objects []object) {
	for i := range res.Problems {
		p := &res.Problems[i]
		if m := item.FindStringSubmatch(p.Where); m != nil {
			n, _ := strconv.Atoi(m[1])
			p.Where = objects[n-1].id()
		}
	}
}

// doubted reports whether the attacker's namespace was not evaluated in a direction.
func doubted(res *audit.Result, d snapshot.Direction) bool {
	return slices.ContainsFunc(res.Isolation, func(row rules.Isolation) bool {
		return row.Namespace == mallory && len(row.NotEvaluated[d]) > 0
	})
}

// affects compares what is said about others without the attacker with what is said with
// them.
func (a *attack) affects(without, with *audit.Result) []string {
	var out []string
	for _, o := range with.Rules {
		if o.Status != audit.RuleRan {
			out = append(out, fmt.Sprintf("%s %s: %s", o.Rule, o.Status, o.Reason))
		}
	}
	for _, f := range with.Failures() {
		if !strings.Contains(f.Where, mallory) {
			out = append(out, fmt.Sprintf("a failure that is not the attacker's: %s: %s", f.Where, f.Reason))
		}
	}
	got := map[string]audit.Finding{}
	for _, f := range with.Findings {
		got[f.ID] = f
		if !ofAttacker(f) && !slices.ContainsFunc(without.Findings, func(w audit.Finding) bool { return w.ID == f.ID }) {
			out = append(out, fmt.Sprintf("a finding that is not the attacker's: %s: %s", f.Rule, f.Message))
		}
	}
	for _, w := range without.Findings {
		f, ok := got[w.ID]
		switch {
		case w.Subject.Name == mallory:
		case !ok:
			out = append(out, fmt.Sprintf("a finding is gone: %s: %s", w.Rule, w.Message))
		case !ofAttacker(f):
			w.State, w.FirstSeen = f.State, f.FirstSeen // it is stored
			if diff := cmp.Diff(w, f); diff != "" {
				out = append(out, "a finding differs: "+diff)
			}
		}
	}
	rows := map[string]rules.Isolation{}
	for _, row := range with.Isolation {
		rows[row.Namespace] = row
	}
	for _, w := range without.Isolation {
		row, ok := rows[w.Namespace]
		if !ok {
			out = append(out, fmt.Sprintf("nothing is said of the isolation of %s", w.Namespace))
			continue
		}
		if diff := cmp.Diff(w, row); diff != "" && w.Namespace != mallory {
			out = append(out, fmt.Sprintf("the isolation of %s differs: %s", w.Namespace, diff))
		}
	}
	return out
}

// ofAttacker reports whether a finding is on something of the attacker's.
func ofAttacker(f audit.Finding) bool {
	return f.Subject.Name == mallory || slices.ContainsFunc(f.Objects, func(o rules.Object) bool {
		return o.Namespace == mallory || o.Kind == "Namespace" && o.Name == mallory
	})
}

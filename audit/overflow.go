package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// A tenant can cause any number of findings. They count against the namespace that
// caused them, so that they push out no finding that another namespace caused, nor the
// only finding of an owner who is a victim.

// maxOwnStorm is how many findings about itself a namespace adds to a storm of the whole
// cluster.
const maxOwnStorm = 10

// markStorms flags the findings that are new to owners if there are too many: too many
// that one namespace caused, or too many namespaces with findings about themselves, as
// after a change to the whole cluster.
func (r Reconciler) markStorms(all []Transition, ev *Evaluation) {
	if r.MaxNew <= 0 {
		return
	}
	caused, own := map[string][]*Transition{}, map[string][]*Transition{}
	for i := range all {
		t := &all[i]
		if !t.isNewToOwners() {
			continue
		}
		culprit := t.Record.culprit()
		caused[culprit] = append(caused[culprit], t)
		if t.Record.isAbout(culprit) {
			own[culprit] = append(own[culprit], t)
		}
	}
	everywhere := 0
	for _, list := range own {
		everywhere += min(len(list), maxOwnStorm)
	}
	if everywhere > r.MaxNew {
		for _, list := range own {
			for _, t := range list {
				t.Record.Storm = true
			}
		}
	}
	for _, list := range caused {
		if len(list) <= r.MaxNew {
			continue
		}
		have := map[string]int{}
		for _, t := range list {
			for _, owner := range t.Record.Owners {
				have[owner]++
			}
		}
		for _, t := range list {
			only := func(owner string) bool { return have[owner] == 1 && ev.named(owner) }
			if !slices.ContainsFunc(t.Record.Owners, only) {
				t.Record.Storm = true
			}
		}
	}
}

func (ev *Evaluation) named(owner string) bool { return ev.Named == nil || ev.Named[owner] }

// cause is what one namespace has caused.
type cause struct {
	namespace string
	stored    int             // of any state
	resolved  []Record        // that may make room: not found again, and everyone was notified
	owners    map[string]bool // who have a stored finding that is not resolved
	fresh     []Finding       // not stored
}

// limit returns the evaluation as it is stored: of the findings that one namespace
// caused beyond MaxStored, only a count remains, as a finding of its own, with why the
// sweep is no success. Findings that are stored stay, and resolve, as they would
// otherwise. At least one is stored for each owner whom more than an object names.
func (r Reconciler) limit(stored []Record, ev *Evaluation) (limited *Evaluation, failures []Failure, notStored int) {
	if r.MaxStored <= 0 {
		return ev, nil, 0
	}
	out := *ev
	out.Evicted = map[string]bool{}
	out.Withheld = slices.Clip(ev.Withheld)
	left, over := map[string]bool{}, map[string]bool{}
	var summaries []Finding
	for _, c := range causes(stored, ev) {
		excess := c.stored + len(c.fresh) - r.MaxStored
		if c.namespace == "" || excess <= 0 || len(c.fresh) == 0 {
			continue
		}
		for _, rec := range c.resolved[:min(excess, len(c.resolved))] {
			out.Evicted[rec.ID] = true
			excess--
		}
		byRule := map[string][]Finding{}
		for _, f := range c.beyond(len(c.fresh)-max(excess, 0), ev) {
			left[f.ID] = true
			byRule[f.Rule] = append(byRule[f.Rule], f)
		}
		for _, rule := range slices.Sorted(maps.Keys(byRule)) {
			s := r.summary(c.namespace, byRule[rule], ev)
			over[s.ID] = true
			summaries = append(summaries, s)
			failures = append(failures, Failure{
				Stage: StageStore, Where: "findings of namespace " + c.namespace,
				Reason: fmt.Sprintf("and %d more of %s, which are not stored one by one, because limits.storedFindings is %d", len(byRule[rule]), rule, r.MaxStored),
			})
		}
	}
	for _, rec := range stored {
		// What cannot be read may be what was counted.
		if isSummary(&rec.Finding) && !over[rec.ID] && ev.mayHide(rec.Rule, rec.Subject.Name) {
			out.Withheld = append(out.Withheld, rec.ID)
		}
	}
	if len(summaries) > 0 {
		out.Findings = slices.DeleteFunc(slices.Clone(ev.Findings), func(f Finding) bool { return left[f.ID] })
		out.Findings = append(out.Findings, summaries...)
		out.Churn = maps.Clone(ev.Churn)
		for _, s := range summaries {
			out.Churn[s.ID] = summaryChurn(&s)
		}
		out.sort()
	}
	return &out, failures, len(left)
}

// causes returns what each namespace has caused, sorted by namespace.
func causes(stored []Record, ev *Evaluation) []*cause {
	byNamespace := map[string]*cause{}
	of := func(namespace string) *cause {
		c := byNamespace[namespace]
		if c == nil {
			c = &cause{namespace: namespace, owners: map[string]bool{}}
			byNamespace[namespace] = c
		}
		return c
	}
	found, known := map[string]*Finding{}, map[string]bool{}
	for i := range ev.Findings {
		found[ev.Findings[i].ID] = &ev.Findings[i]
	}
	for _, rec := range stored {
		known[rec.ID] = true
		if isSummary(&rec.Finding) {
			continue
		}
		now := &rec.Finding
		if f := found[rec.ID]; f != nil {
			now = f
		}
		c := of(now.culprit())
		c.stored++
		switch {
		case rec.State != StateResolved || found[rec.ID] != nil:
			for _, owner := range now.Owners {
				c.owners[owner] = true
			}
		case !slices.ContainsFunc(rec.Notifications, func(n Notification) bool { return n.Pending != "" }):
			c.resolved = append(c.resolved, rec)
		}
	}
	for _, f := range ev.Findings {
		if !known[f.ID] {
			c := of(f.culprit())
			c.fresh = append(c.fresh, f)
		}
	}
	var out []*cause
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		c := byNamespace[namespace]
		slices.SortFunc(c.resolved, func(a, b Record) int {
			return cmp.Or(a.ResolvedAt.Compare(b.ResolvedAt), strings.Compare(a.ID, b.ID))
		})
		out = append(out, c)
	}
	return out
}

// beyond returns the findings for which there is no room. Each owner's first finding
// comes before any owner's second one, and whoever has a stored one has had their first.
func (c *cause) beyond(room int, ev *Evaluation) []Finding {
	slices.SortFunc(c.fresh, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.ID, b.ID))
	})
	turn := map[string]int{} // by owner: how many findings they have so far
	for owner := range c.owners {
		turn[owner] = 1
	}
	type ranked struct {
		Finding
		turn  int
		first bool
	}
	list := make([]ranked, len(c.fresh))
	for i, f := range c.fresh {
		list[i] = ranked{Finding: f, turn: len(c.fresh) + 1}
		for _, owner := range f.Owners {
			list[i].turn = min(list[i].turn, turn[owner])
			list[i].first = list[i].first || turn[owner] == 0 && ev.named(owner)
			turn[owner]++
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		if a.first != b.first {
			return cmp.Compare(truth(b.first), truth(a.first))
		}
		return cmp.Compare(a.turn, b.turn)
	})
	var out []Finding
	for i, f := range list {
		if i >= room && !f.first {
			out = append(out, f.Finding)
		}
	}
	return out
}

// summary returns the finding that stands for others of one rule that a namespace has
// caused. It goes to their owners, to the owner of the namespace, and to the fallback
// owner.
func (r Reconciler) summary(namespace string, list []Finding, ev *Evaluation) Finding {
	f := Finding{
		ID: rules.ID(list[0].Rule, summarySubject(namespace)), Rule: list[0].Rule, Subject: summarySubject(namespace),
		Verdict: "too-many", Culprit: namespace, State: StateOpen, FirstSeen: r.Now,
		Message: fmt.Sprintf("And %d more of namespace %s: it has caused more findings than the %d that are stored one by one.",
			len(list), namespace, r.MaxStored),
		Remedy: "Find out who creates the listed objects, and remove them. To see every finding, run: audit --once -n " + namespace + " -o wide",
	}
	owners, objects := map[string]bool{}, map[snapshot.Ref]rules.Object{}
	for _, one := range list {
		f.Severity = max(f.Severity, one.Severity)
		for _, owner := range one.Owners {
			if ev.named(owner) {
				owners[owner] = true
			}
		}
		for _, o := range one.Objects {
			if o.Namespace == namespace {
				objects[o.Ref] = rules.Object{Ref: o.Ref, Owner: o.Owner, Created: o.Created, Reason: o.Reason}
			}
		}
	}
	for _, n := range ev.Ownership {
		if n.Namespace == namespace {
			owners[n.Owner] = true
		}
	}
	if r.Fallback != "" {
		owners[r.Fallback] = true
	}
	f.Owners = slices.Sorted(maps.Keys(owners))
	f.Objects = slices.SortedFunc(maps.Values(objects), rules.CompareObjects)
	return f
}

// summaryChurn says that neither the number of findings nor their objects are news.
func summaryChurn(f *Finding) Churn {
	c := Churn{Message: f.Message, Cause: f.Cause}
	for _, o := range f.Objects {
		m := snapshot.Meta{Group: o.Group, Kind: o.Kind}
		if kind := m.Resource(); !slices.Contains(c.Affected, kind) {
			c.Affected = append(c.Affected, kind)
		}
	}
	return c
}

// mayHide reports whether a rule may have missed findings that a namespace has caused.
func (ev *Evaluation) mayHide(rule, namespace string) bool {
	if slices.Contains(ev.AfterOthers, rule) {
		for _, evaluated := range ev.Evaluated {
			if !evaluated {
				return true
			}
		}
	}
	return slices.ContainsFunc(ev.Unread, func(o RuleObject) bool { return o.Rule == rule && o.Object.Namespace == namespace }) ||
		slices.ContainsFunc(ev.NotEvaluated, func(s RuleSubject) bool { return s.Rule == rule })
}

// keepOwners limits the owners of a finding to those for whom a store has room, and
// returns the others. Where there are others, the fallback owner is an owner, too, so
// that someone is notified in their place. was is what is stored of the finding: of
// equal right, its owners keep their place.
func (r Reconciler) keepOwners(f *Finding, was []string) (overflow []string) {
	ranks := f.Ranks
	f.Ranks, f.MoreOwners = nil, 0
	if r.MaxNotifications <= 0 || r.fitting(f.Rule, f.Owners) == len(f.Owners) {
		return nil
	}
	byName := map[string]OwnerRank{}
	for _, rank := range ranks {
		byName[rank.Owner] = rank
	}
	all := slices.Clone(f.Owners)
	rankOf := func(owner string) OwnerRank {
		if rank, ok := byName[owner]; ok {
			return rank
		}
		return OwnerRank{Owner: owner, Right: RightObject}
	}
	slices.SortFunc(all, func(a, b string) int {
		x, y := rankOf(a), rankOf(b)
		return cmp.Or(cmp.Compare(x.Right, y.Right), cmp.Compare(truth(!slices.Contains(was, a)), truth(!slices.Contains(was, b))), x.compare(y))
	})
	if fallback := r.Fallback; fallback != "" {
		all = slices.Insert(slices.DeleteFunc(all, func(o string) bool { return o == fallback }), 0, fallback)
	}
	n := r.fitting(f.Rule, all)
	f.Owners, overflow = slices.Sorted(slices.Values(all[:n])), slices.Sorted(slices.Values(all[n:]))
	f.MoreOwners = len(overflow)
	return overflow
}

// fitting returns how many of the owners of a finding a store can keep, with their
// notifications.
func (r Reconciler) fitting(rule string, owners []string) int {
	notifications := 0
	for i, o := range owners {
		if r.Senders != nil {
			notifications += len(r.Senders(rule, o))
		}
		if max(i+1, notifications) > r.MaxNotifications {
			return i
		}
	}
	return len(owners)
}

// unnotified counts the owners of a finding who are not notified because it has too
// many.
func (t *Transition) unnotified() int {
	if t.Delete || t.Record.State == StateResolved {
		return 0
	}
	return t.Record.MoreOwners
}

// overflowProblems names the findings that have too many owners.
func overflowProblems(all []Transition, fallback string) []Failure {
	var out []Failure
	for _, t := range all {
		n := t.unnotified()
		if n == 0 {
			continue
		}
		instead := "set owners.fallback in the config to have someone notified in their place"
		if fallback != "" {
			instead = "the fallback owner, " + fallback + ", is notified in their place"
		}
		out = append(out, Failure{
			Stage:  StageDeliver,
			Where:  "owners of " + t.Record.Rule + " " + t.Record.Subject.String(),
			Reason: fmt.Sprintf("%d of %d owners are not notified, because a finding keeps only so many: %s", n, n+len(t.Record.Owners), instead),
		})
	}
	return out
}

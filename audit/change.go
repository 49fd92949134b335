package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Churn is what of a finding follows from objects that come and go, such as pods,
// while the finding itself stays what it is.
type Churn struct {
	// Affected are the kinds whose objects suffer from the violation, as declared by
	// the rule. All other objects of the finding make it what it is.
	Affected []snapshot.Kind
	// Message and Cause are the beginnings of the finding's texts that do not follow
	// from such objects.
	Message, Cause string
}

func newChurn(rule *rules.Rule, v *rules.Violation) Churn {
	return Churn{
		Affected: rule.Affected,
		Message:  strings.TrimSuffix(v.Message, v.MessageTail),
		Cause:    strings.TrimSuffix(v.Cause, v.CauseTail),
	}
}

// A weight says how much the presence of an object means to a finding.
type weight int

const (
	essential weight = iota // a claimant or a policy: the owners are notified of a change
	lasting                 // an affected object that people make: a change is stored
	passing                 // an affected object that controllers and pipelines make
)

func (c Churn) weight(o rules.Object) weight {
	m := snapshot.Meta{Group: o.Group, Kind: o.Kind}
	switch kind := m.Resource(); {
	case !slices.Contains(c.Affected, kind):
		return essential
	// A finding on a Namespace lists the Namespace if it lists nothing else.
	case snapshot.ShortLived(kind), kind == snapshot.Namespaces:
		return passing
	}
	return lasting
}

// weighed returns the objects with the most important first, so that a store that has
// room for some of them keeps those.
func (c Churn) weighed(objects []rules.Object) []rules.Object {
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b rules.Object) int { return cmp.Compare(c.weight(a), c.weight(b)) })
	return sorted
}

// only returns the objects of one weight, by reference.
func (c Churn) only(w weight, objects []rules.Object) []rules.Object {
	var out []rules.Object
	for _, o := range objects {
		if c.weight(o) == w {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b rules.Object) int {
		return cmp.Or(a.Ref.Compare(b.Ref), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Detail, b.Detail), a.Created.Compare(b.Created))
	})
	return out
}

// isNews reports whether owners who know of a finding are notified of a change: of the
// severity, the verdict, or the objects that make the finding what it is. A cause in
// other words, or another affected workload, is not news. Another owner is, to that
// one, who is notified of the finding as a new one.
func isNews(was, now Finding, c Churn) bool {
	return was.Severity != now.Severity || was.Verdict != now.Verdict ||
		!slices.EqualFunc(was.Objects, now.Objects, sameRef) &&
			!slices.EqualFunc(c.only(essential, was.Objects), c.only(essential, now.Objects), sameRef)
}

func sameRef(a, b rules.Object) bool { return a.Ref == b.Ref }

// sameContent reports whether a stored finding still says what is worth storing. It
// does not follow the pods of a namespace, nor what texts say about their number and
// age: the finding of a namespace that runs a pipeline would be written in every sweep.
func sameContent(was, now Finding, c Churn) bool {
	return was.Severity == now.Severity && was.Verdict == now.Verdict && was.Remedy == now.Remedy &&
		slices.Equal(was.Owners, now.Owners) && was.MoreOwners == now.MoreOwners &&
		(was.MoreObjects == now.MoreObjects || len(c.Affected) > 0) &&
		c.sameText(was.Message, now.Message, c.Message) && c.sameText(was.Cause, now.Cause, c.Cause) &&
		(slices.EqualFunc(was.Objects, now.Objects, sameObject) ||
			slices.EqualFunc(c.only(essential, was.Objects), c.only(essential, now.Objects), sameObject) &&
				slices.EqualFunc(c.only(lasting, was.Objects), c.only(lasting, now.Objects), sameObject))
}

func sameObject(a, b rules.Object) bool {
	return a.Ref == b.Ref && a.Owner == b.Owner && a.Created.Equal(b.Created) && a.Reason == b.Reason && a.Detail == b.Detail
}

// sameText reports whether two texts begin alike. A text that a store has cut before
// its beginning ends is compared as a whole.
func (c Churn) sameText(was, now, beginning string) bool {
	if len(c.Affected) == 0 || !strings.HasPrefix(now, beginning) {
		return was == now
	}
	return strings.HasPrefix(was, beginning)
}

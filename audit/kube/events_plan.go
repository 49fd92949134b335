package kube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// wording is how Events tell of a transition.
type wording struct {
	kind   string // Warning or Normal
	reason string
	before string // goes before the message, which says how things were
}

// tell returns how Events tell of a transition, and whether they do.
func tell(why audit.Reason) (wording, bool) {
	switch why {
	case audit.ReasonOpened:
		return wording{corev1.EventTypeWarning, "FindingOpened", ""}, true
	case audit.ReasonReopened:
		return wording{corev1.EventTypeWarning, "FindingReopened", ""}, true
	case audit.ReasonChanged:
		return wording{corev1.EventTypeWarning, "FindingChanged", ""}, true
	case audit.ReasonResolved:
		return wording{corev1.EventTypeNormal, "FindingResolved", "No longer so: "}, true
	case audit.ReasonRuleRetired:
		return wording{corev1.EventTypeNormal, "FindingRuleRetired", "No longer asked for: "}, true
	case audit.ReasonExcepted:
		return wording{corev1.EventTypeNormal, "FindingExcepted", "Excepted by the config: "}, true
	}
	return wording{}, false
}

// entry is an Event to be: a transition and one of the objects of its finding.
type entry struct {
	wording
	why    audit.Reason
	record *audit.Record
	ref    snapshot.Ref
}

// plan is what is to be recorded after a sweep.
type plan struct {
	entries []entry // by finding, then in the order of its objects
	left    int     // objects that there was no room for
}

// plan says which Events tell of a sweep. What could not be stored did not happen,
// and comes with the next sweep; a change of words is none that anybody has to see.
// Where there are too many, each finding gets one before any gets a second.
func (e *Events) plan(published *audit.Published) plan {
	var rounds [][]entry
	var p plan
	for i := range published.Transitions {
		t := &published.Transitions[i]
		how, ok := tell(t.Why)
		if !ok || t.Unwritten || t.Why == audit.ReasonChanged && !t.Significant() {
			continue
		}
		p.left += t.Record.MoreObjects
		for n, ref := range objectsOf(&t.Record) {
			if n == e.opts.PerFinding {
				p.left += len(objectsOf(&t.Record)) - n
				break
			}
			if n == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[n] = append(rounds[n], entry{how, t.Why, &t.Record, ref})
		}
	}
	p.entries = slices.Concat(rounds...)
	if most := e.opts.PerSweep; len(p.entries) > most {
		p.left += len(p.entries) - most
		p.entries = p.entries[:most]
	}
	slices.SortStableFunc(p.entries, func(a, b entry) int { return compareIDs(a.record, b.record) })
	return p
}

// objectsOf returns the objects of a finding, each once: what several parts of one
// object have in it is one Event.
func objectsOf(r *audit.Record) []snapshot.Ref {
	var refs []snapshot.Ref
	seen := map[snapshot.Ref]bool{}
	for _, o := range r.Objects {
		if !seen[o.Ref] {
			seen[o.Ref] = true
			refs = append(refs, o.Ref)
		}
	}
	return refs
}

// refs returns the objects that Events are planned for, sorted.
func (p *plan) refs() []snapshot.Ref {
	set := map[snapshot.Ref]bool{}
	for _, e := range p.entries {
		set[e.ref] = true
	}
	return slices.SortedFunc(maps.Keys(set), snapshot.Ref.Compare)
}

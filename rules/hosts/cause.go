package hosts

import (
	"fmt"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/admission"
)

// The causes of a finding. A cause says what the evidence is consistent with; only
// the audit log of the API server could prove it.
const (
	causeRace     = "admission-race"
	causeTogether = "created-together"
	causeBypassed = "gate-bypassed"
	causeLateEdit = "late-edit"
)

// clockGrain is the resolution of the timestamps of objects.
const clockGrain = time.Second

// hostCause says how two owners may have come to claim one host. It looks at the
// first claim and the first one of another owner, where the conflict began. Without
// evidence it names no cause.
func hostCause(list []*claim, evidence *admission.Evidence) string {
	first, second := beginning(list)
	a, b := first.window(), second.window()
	if a.from.IsZero() || b.from.IsZero() {
		return ""
	}
	controls := evidence.For(second.object)
	near := clockGrain + controls.SlowestTimeout()
	switch {
	case a.exact() && b.exact() && b.from.Sub(a.from) <= clockGrain && sameCreator(first, second):
		return fmt.Sprintf("%s: %s and %s were created within %s, both by a client named %q, and not changed since. This is consistent with "+
			"one client that creates many objects, such as a restore or a GitOps sync. Clients choose their names, so these may be two.",
			causeTogether, first.object.Ref(), second.object.Ref(), seconds(b.from.Sub(a.from)), first.object.Creator)
	case a.exact() && b.exact() && b.from.Sub(a.from) <= near:
		return fmt.Sprintf("%s: %s and %s were created within %s and not changed since. This is consistent with a race in which "+
			"admission let each through before it could see the other. Which came first is unknown.",
			causeRace, first.object.Ref(), second.object.Ref(), seconds(b.from.Sub(a.from)))
	case a.before(b, near):
		return fmt.Sprintf("%s: %s claimed the host at least %s after %s did. A check against live objects would have rejected it. %s",
			causeBypassed, second.object.Ref(), rules.Age(b.from.Sub(a.to)), first.object.Ref(), controls.Gaps(second.object.Namespace))
	case b.exact() && a.to.Sub(b.from) > near:
		return lateEdit(first, second, evidence.For(first.object))
	case a.exact() && b.to.Sub(b.from) > near:
		return lateEdit(second, first, controls)
	}
	return ""
}

// sameCreator reports whether two claimants were created by clients of one name. Someone
// who borrows another's name changes this word of the report and nothing else: the
// finding, its severity and its owners do not depend on its cause.
func sameCreator(a, b *claim) bool {
	return a.object.Creator != "" && a.object.Creator == b.object.Creator
}

func lateEdit(edited, other *claim, controls *admission.Controls) string {
	return fmt.Sprintf("%s: the hosts of %s were last written at %s, and %s has claimed the host since %s. This is consistent "+
		"with an update that added the host, but the update may have changed something else. %s", causeLateEdit, edited.object.Ref(),
		rules.Timestamp(edited.set), other.object.Ref(), rules.Timestamp(other.object.Created), controls.Gaps(edited.object.Namespace))
}

// beginning returns the oldest claim, and the oldest of another owner.
func beginning(list []*claim) (first, second *claim) {
	sorted := oldestFirst(list)
	for _, c := range sorted[1:] {
		if !c.owner.Is(*sorted[0].owner) {
			return sorted[0], c
		}
	}
	return sorted[0], sorted[0]
}

// culprit returns the namespace of the claim that began the contest: of the two oldest
// claims of different owners, the one that cannot be shown to have been there first. An
// object can have claimed a host at any time since it was created, up to the last time
// at which its hosts were set.
func culprit(list []*claim) string {
	first, second := beginning(list)
	if first.owner.Verified() != second.owner.Verified() {
		if second.owner.Verified() {
			return first.object.Namespace
		}
		return second.object.Namespace
	}
	if latest(first).After(latest(second)) {
		return first.object.Namespace
	}
	return second.object.Namespace
}

// latest returns when a host was claimed at the latest, as far as is known.
func latest(c *claim) time.Time {
	if c.set.After(c.object.Created) {
		return c.set
	}
	return c.object.Created
}

// window is when a host was claimed: not before from and not after to. If to is
// zero, there is no upper bound.
type window struct{ from, to time.Time }

func (c *claim) window() window { return window{c.object.Created, c.set} }

func (w window) exact() bool { return !w.to.IsZero() && w.to.Sub(w.from) < clockGrain }

// before reports whether the window ends more than gap before another one begins.
func (w window) before(o window, gap time.Duration) bool {
	return !w.to.IsZero() && o.from.Sub(w.to) > gap
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return "the same second"
	}
	return rules.Count(int(d/time.Second), "second")
}

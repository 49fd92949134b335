package hosts

import (
	"fmt"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/admission"
)

// The causes that a finding can have. They say what the evidence is consistent
// with: only the audit log of the API server could prove one.
const (
	causeRace         = "admission-race"
	causeBypassed     = "gate-bypassed"
	causeLateEdit     = "late-edit"
	causeUndetermined = "undetermined"
)

// clockGrain is the grain of the times that objects carry, cut to seconds.
const clockGrain = time.Second

// hostCause says how two owners can have come to claim one host. It looks at the
// first claim and the first of another owner: there the conflict began.
func hostCause(list []*claim, book *admission.Evidence) string {
	first, second := beginning(list)
	a, b := first.window(), second.window()
	if a.from.IsZero() || b.from.IsZero() {
		return causeUndetermined + ": how old the claimants are is not known."
	}
	g := book.For(second.object)
	near := clockGrain + g.SlowestTimeout()
	switch {
	case a.exact() && b.exact() && b.from.Sub(a.from) <= near:
		return fmt.Sprintf("%s: %s and %s were created within %s and not changed since. That is consistent with a race, in which "+
			"admission let each through before it could see the other; who came first cannot be known.",
			causeRace, first.object.Ref(), second.object.Ref(), seconds(b.from.Sub(a.from)))
	case a.before(b, near):
		return fmt.Sprintf("%s: %s claimed the host at least %s after %s. Whoever looks at live objects could have refused it. %s",
			causeBypassed, second.object.Ref(), rules.Age(b.from.Sub(a.to)), first.object.Ref(), g.Gaps(second.object.Namespace))
	case b.exact() && a.to.Sub(b.from) > near:
		return lateEdit(first, second, book.For(first.object))
	case a.exact() && b.to.Sub(b.from) > near:
		return lateEdit(second, first, g)
	}
	return fmt.Sprintf("%s: %s and %s were changed after they were created, so which of them claimed the host first "+
		"cannot be known.", causeUndetermined, first.object.Ref(), second.object.Ref())
}

func lateEdit(edited, other *claim, g *admission.Controls) string {
	return fmt.Sprintf("%s: the hosts of %s were last written %s, while %s claims it since %s. That is consistent with the host "+
		"having come by an update; that something else was changed then cannot be excluded. %s", causeLateEdit, edited.object.Ref(),
		rules.Timestamp(edited.set), other.object.Ref(), rules.Timestamp(other.object.Created), g.Gaps(edited.object.Namespace))
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

// window is when a host was asserted: not before from and not after to. A zero
// to bounds nothing.
type window struct{ from, to time.Time }

func (c *claim) window() window { return window{c.object.Created, c.set} }

func (w window) exact() bool { return !w.to.IsZero() && w.to.Sub(w.from) < clockGrain }

// before reports whether the window ends at least that long before another one
// begins.
func (w window) before(o window, gap time.Duration) bool {
	return !w.to.IsZero() && o.from.Sub(w.to) > gap
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return "the same second"
	}
	return rules.Count(int(d/time.Second), "second")
}

package rules

import (
	"fmt"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Object is an object that a violation rests on.
type Object struct {
	snapshot.Ref
	Owner   string    // the owner's name, empty where it is not known
	Created time.Time // zero where not known
	Reason  string    // a word for its part in it, such as "server-alias"
	Detail  string    // more of it for people
}

// ObjectOf returns the object of a violation.
func ObjectOf(m *snapshot.Meta, owner Owner, reason, detail string) Object {
	return Object{Ref: m.Ref(), Owner: owner.Name, Created: m.Created, Reason: reason, Detail: detail}
}

// CompareObjects orders objects by creation, then reference. Those whose
// creation is not known come last.
func CompareObjects(a, b Object) int {
	switch {
	case a.Created.Equal(b.Created):
		return a.Ref.Compare(b.Ref)
	case a.Created.IsZero():
		return 1
	case b.Created.IsZero():
		return -1
	}
	return a.Created.Compare(b.Created)
}

// Span returns the oldest and the newest known creation, zero if none is known.
func Span(objects []Object) (oldest, newest time.Time) {
	for _, o := range objects {
		if o.Created.IsZero() {
			continue
		}
		if oldest.IsZero() || o.Created.Before(oldest) {
			oldest = o.Created
		}
		if o.Created.After(newest) {
			newest = o.Created
		}
	}
	return oldest, newest
}

// Arrivals says when workloads came, which are called by an adjective. It says
// nothing of none.
func Arrivals(adjective string, workloads []Object) string {
	oldest, newest := Span(workloads)
	switch {
	case len(workloads) == 0:
		return ""
	case oldest.IsZero():
		return fmt.Sprintf("When the %s workloads came is not known.", adjective)
	case len(workloads) > 1 && oldest.Equal(newest):
		return fmt.Sprintf("The %s workloads came %s.", adjective, Timestamp(oldest))
	case len(workloads) == 1:
		return fmt.Sprintf("The %s workload came %s.", adjective, Timestamp(oldest))
	}
	return fmt.Sprintf("The oldest %s workload came %s, the newest %s.", adjective, Timestamp(oldest), Timestamp(newest))
}

package audit

import (
	"slices"

	"github.com/eventuallytrue/audit/rules"
)

// sameContent reports whether what is told of a finding is the same.
func sameContent(a, b Finding) bool {
	return a.Severity == b.Severity && a.Verdict == b.Verdict && a.Message == b.Message && a.Cause == b.Cause &&
		a.Remedy == b.Remedy && slices.Equal(a.Owners, b.Owners) && a.MoreObjects == b.MoreObjects &&
		slices.EqualFunc(a.Objects, b.Objects, func(x, y rules.Object) bool {
			return x.Ref == y.Ref && x.Owner == y.Owner && x.Created.Equal(y.Created) && x.Reason == y.Reason && x.Detail == y.Detail
		})
}

// matters reports whether owners should be told of a change: whether other objects
// are part of the finding, or it is worse or less bad. That a cause is told in
// other words, or one object more is counted, is no news.
func significantChange(a, b Finding) bool {
	return a.Severity != b.Severity || a.Verdict != b.Verdict ||
		!slices.EqualFunc(a.Objects, b.Objects, func(x, y rules.Object) bool { return x.Ref == y.Ref })
}

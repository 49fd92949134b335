package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules"
)

// Finding is a violation with an identity, owners and a life.
type Finding struct {
	ID       string // rules.ID of rule and subject
	Rule     string
	Severity rules.Severity
	Subject  rules.Subject
	Verdict  string
	Culprit  string   // the namespace that caused it; empty if none did, or it is not stored
	Owners   []string // the names of those who are notified, sorted
	Message  string
	Cause    string
	Remedy   string
	// Fix is what would end the finding, as YAML with comments, where that is known and was
	// asked for; see package remedy. It is not stored.
	Fix       string
	State     State
	FirstSeen time.Time
	Objects   []rules.Object // by creation, then reference
	// MoreObjects counts the objects that a store had no room for, MoreOwners the owners.
	MoreObjects, MoreOwners int
	// Provisional is true if the finding rests on objects that may be gone soon, as in
	// rules.Violation. It is not stored.
	Provisional bool
	// Ranks are the ranks of Owners, by name; none if there are few owners, or in a store.
	Ranks []OwnerRank
}

// culprit returns the namespace that caused a finding, also of one that was stored
// without it.
func (f *Finding) culprit() string {
	switch {
	case f.Culprit != "":
		return f.Culprit
	case f.Subject.Namespace != "":
		return f.Subject.Namespace
	case f.Subject.Kind == rules.SubjectNamespace:
		return f.Subject.Name
	}
	for _, o := range slices.Backward(f.Objects) { // the newest first
		if o.Namespace != "" {
			return o.Namespace
		}
	}
	return ""
}

// isAbout reports whether a finding is about a namespace itself, and nobody else's
// concern.
func (f *Finding) isAbout(namespace string) bool {
	own := f.Subject.Namespace == namespace || f.Subject.Kind == rules.SubjectNamespace && f.Subject.Name == namespace
	return own && len(f.Owners) <= 1
}

// summaryDetail is the detail of the subject of a finding that stands for others.
const summaryDetail = "more findings"

func summarySubject(namespace string) rules.Subject {
	return rules.Subject{Kind: rules.SubjectNamespace, Name: namespace, Detail: summaryDetail}
}

// isSummary reports whether a finding stands for others that are not stored.
func isSummary(f *Finding) bool {
	return f.Subject == summarySubject(f.Subject.Name)
}

// State is where a finding is in its life.
type State string

// The states of a finding.
const (
	StatePending  State = "Pending"
	StateOpen     State = "Open"
	StateResolved State = "Resolved"
)

// Advisory is worth a line in the report, but never a finding.
type Advisory struct {
	Rule    string // the rule that reports it, or "config"
	Subject rules.Subject
	Owners  []string
	Message string
	Objects []rules.Object
}

// Record is a finding as it is stored, with its history.
type Record struct {
	Finding
	Reason        Reason // why it is in its state
	Sweeps        int    // how many saw it while it was pending
	OpenedAt      time.Time
	ResolvedAt    time.Time
	Reopened      int  // how often it came back
	Storm         bool // it opened together with too many others to notify owners one by one
	Notifications []Notification
}

// Notification returns what a sender has sent to an owner. Its Last and Pending are
// empty if there is nothing.
func (r *Record) Notification(sender, owner string) Notification {
	for _, n := range r.Notifications {
		if n.Sender == sender && n.Owner == owner {
			return n
		}
	}
	return Notification{Sender: sender, Owner: owner}
}

// SetNotification replaces what a sender has sent to an owner. It does not change
// the list in place, since other copies of the record may share it.
func (r *Record) SetNotification(n Notification) {
	all := slices.Clone(r.Notifications)
	for i := range all {
		if all[i].Sender == n.Sender && all[i].Owner == n.Owner {
			all[i] = n
			r.Notifications = all
			return
		}
	}
	r.Notifications = append(all, n)
	slices.SortFunc(r.Notifications, compareNotifications)
}

// Reason is why a finding is in its state, or moves to another.
type Reason string

// The reasons of a transition.
const (
	ReasonPending     Reason = "pending"      // seen, and younger than its rule's "for"
	ReasonProvisional Reason = "provisional"  // seen once, and it rests on objects that are being deleted
	ReasonOpened      Reason = "opened"       // seen for the first time, or long enough
	ReasonConfirmed   Reason = "confirmed"    // seen again, and nothing changed
	ReasonChanged     Reason = "changed"      // seen again, and something of it changed that matters to owners
	ReasonRefreshed   Reason = "refreshed"    // seen again, and only its words or the affected workloads changed
	ReasonReopened    Reason = "reopened"     // seen again after it was resolved
	ReasonResolved    Reason = "resolved"     // evaluated, and no longer there
	ReasonGone        Reason = "gone"         // no longer there before it was opened
	ReasonRuleRetired Reason = "rule-retired" // its rule was removed, or the config no longer asks for it
	ReasonExcepted    Reason = "excepted"     // an exception of the config hides it
	ReasonCarriedOver Reason = "carried-over" // unknown: its rule did not run, or could not evaluate it
	ReasonKept        Reason = "kept"         // resolved, or gone while it was provisional, and not old enough to be deleted
	ReasonExpired     Reason = "expired"      // resolved for longer than it is kept
)

// Transition is what a sweep makes of one finding.
type Transition struct {
	Record Record // as it is to be stored
	Why    Reason
	// Write is true if the stored record must change, Delete if it must be removed,
	// New if nothing is stored yet.
	Write, Delete, New bool
	// Unwritten is true if the write failed.
	Unwritten bool

	was []rules.Object // the objects of a changed finding before the change
	// now is a confirmed finding as this sweep sees it. The stored one may list pods
	// that are gone.
	now *Finding
	// news is true if owners who know of the finding are notified of its change,
	// newToOwner if an owner is to be notified of a finding that existed before.
	news, newToOwner bool
	overflow         []string // owners who are not in the record, sorted
}

// current returns the finding as this sweep sees it.
func (t *Transition) current() Finding {
	if t.now != nil {
		return *t.now
	}
	return t.Record.Finding
}

// isNewToOwners reports whether an owner is notified of the finding as a new one.
func (t *Transition) isNewToOwners() bool {
	return t.Why == ReasonOpened || t.Why == ReasonReopened || t.newToOwner
}

// needsConfirmation reports whether a transition opens a finding, ends it or changes
// what it says because of a single list. Another publisher that read later may have
// stored a change that this sweep has not seen and would revert.
func (t Transition) needsConfirmation() bool {
	if isSummary(&t.Record.Finding) {
		return false // a count of what was not confirmed either
	}
	switch t.Why {
	case ReasonOpened, ReasonReopened, ReasonChanged, ReasonRefreshed, ReasonPending, ReasonResolved, ReasonGone:
		return true
	}
	return false
}

// OwnerRank says which owners of a finding come first where there are more of them than
// a store keeps.
type OwnerRank struct {
	Owner string
	Right OwnerRight
	Since time.Time // the creation of their first object of the finding; zero if unknown
}

// OwnerRight is what makes someone an owner of a finding. The least comes first.
type OwnerRight int

// The rights of owners. Anyone who can edit an object can make it name any number of
// owners, which must not push out those of the namespaces.
const (
	RightNamespace OwnerRight = iota // they own a namespace that the finding is about
	RightTeam                        // an object names them, and they own something else or are in the registry
	RightObject                      // an object names them, and nothing else does
)

// compare orders owners by right, and then by their first object: who came later does
// not push out who was there.
func (r OwnerRank) compare(o OwnerRank) int {
	return cmp.Or(cmp.Compare(r.Right, o.Right), cmp.Compare(truth(r.Since.IsZero()), truth(o.Since.IsZero())),
		r.Since.Compare(o.Since), strings.Compare(r.Owner, o.Owner))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// wording is how an Event describes a transition.
type wording struct {
	kind   string // Warning or Normal
	reason string
	before string // precedes the message, which describes the violation
}

// describe returns how an Event describes a transition, and whether one is recorded.
func describe(why audit.Reason) (wording, bool) {
	switch why {
	case audit.ReasonOpened:
		return wording{corev1.EventTypeWarning, "FindingOpened", ""}, true
	case audit.ReasonReopened:
		return wording{corev1.EventTypeWarning, "FindingReopened", ""}, true
	case audit.ReasonChanged:
		return wording{corev1.EventTypeWarning, "FindingChanged", ""}, true
	case audit.ReasonResolved:
		return wording{corev1.EventTypeNormal, "FindingResolved", "Resolved: "}, true
	case audit.ReasonRuleRetired:
		return wording{corev1.EventTypeNormal, "FindingRuleRetired", "No longer checked: "}, true
	case audit.ReasonExcepted:
		return wording{corev1.EventTypeNormal, "FindingExcepted", "Excepted by the config: "}, true
	}
	return wording{}, false
}

// entry is a planned Event: a transition and one of the objects of its finding.
type entry struct {
	wording
	why    audit.Reason
	record *audit.Record
	ref    snapshot.Ref
}

// plan is the Events to record after a sweep.
type plan struct {
	entries []entry // by finding, then in the order of its objects
	left    int     // objects beyond the limits
}

// plan returns the Events to record after a sweep. A transition that could not be
// stored comes again with the next sweep, and a change of wording is not worth an
// Event. If there are too many, each finding gets one before any gets a second.
func (r *Recorder) plan(published *audit.Published) plan {
	var rounds [][]entry
	var p plan
	for i := range published.Transitions {
		t := &published.Transitions[i]
		how, ok := describe(t.Why)
		if !ok || t.Unwritten {
			continue
		}
		p.left += t.Record.MoreObjects
		for n, ref := range objectsOf(&t.Record) {
			if n == r.opts.PerFinding {
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
	if most := r.opts.PerSweep; len(p.entries) > most {
		p.left += len(p.entries) - most
		p.entries = p.entries[:most]
	}
	slices.SortStableFunc(p.entries, func(a, b entry) int { return strings.Compare(a.record.ID, b.record.ID) })
	return p
}

// objectsOf returns the objects of a finding, each once, even if several parts of one
// object are involved.
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

// The API server's limits of an Event, in bytes.
const (
	maxNote     = 1024
	maxInstance = 128
)

// reportingController identifies the program in its Events.
const reportingController = v1alpha1.Group + "/audit"

// event makes the Event of an entry on an object as it is now. It holds the object's
// UID, by which kubectl describe finds it.
func (r *Recorder) event(n entry, at time.Time, object *corev1.ObjectReference) *eventsv1.Event {
	namespace := object.Namespace
	if namespace == "" {
		// Beside kube-system, the only one in which the API server accepts Events on
		// such objects.
		namespace = metav1.NamespaceDefault
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: eventName(n, at), Namespace: namespace},
		EventTime:           metav1.NewMicroTime(at),
		ReportingController: reportingController,
		ReportingInstance:   kube.Printable(r.opts.Instance, maxInstance),
		Action:              "Audit",
		Type:                n.kind,
		Reason:              n.reason,
		Regarding:           *object,
		Related: &corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.Kind, Namespace: r.namespace, Name: n.record.ID,
		},
		Note: note(n),
	}
}

// eventName makes the name of an Event from the finding, the transition, how often the
// finding was reopened, the time, and the object. The time distinguishes two changes of
// an open finding, and two findings of one name of which the first was deleted: each
// transition is stored by one publisher, so two times are two transitions.
func eventName(n entry, at time.Time) string {
	h := sha256.New()
	for _, part := range []string{
		string(n.why), strconv.Itoa(n.record.Reopened), strconv.FormatInt(at.UnixMicro(), 10),
		n.ref.Group, n.ref.Kind, n.ref.Namespace, n.ref.Name,
	} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return n.record.ID + "." + hex.EncodeToString(h.Sum(nil)[:8])
}

// note is the text of an Event: the message, the remedy unless the finding is resolved,
// and the name of the finding. It has names from the cluster, so it is one line of
// printable characters.
func note(n entry) string {
	r := n.record
	after := fmt.Sprintf(" (%s, finding %s)", r.Severity, r.ID)
	text := n.before + r.Message
	if r.State != audit.StateResolved {
		text += " " + r.Remedy
	}
	return cutBytes(kube.Flat(text), maxNote-len(after)) + after
}

const ellipsis = "…"

// cutBytes returns a text of at most so many bytes, cut between two letters.
func cutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := max(most-len(ellipsis), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimRight(text[:end], " ") + ellipsis
}

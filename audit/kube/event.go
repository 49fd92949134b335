package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// The API server's limits of an Event, in bytes.
const (
	maxNote     = 1024
	maxInstance = 128
)

// reportingController names the program in its Events.
const reportingController = v1alpha1.Group + "/audit"

// event makes the Event of an entry on an object as it is now. It holds the object's
// UID, by which kubectl describe finds it.
func (e *Events) event(n entry, at time.Time, object *corev1.ObjectReference) *eventsv1.Event {
	namespace := object.Namespace
	if namespace == "" {
		// The only one in which the API server takes Events on such objects,
		// beside kube-system.
		namespace = metav1.NamespaceDefault
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: eventName(n, at), Namespace: namespace},
		EventTime:           metav1.NewMicroTime(at),
		ReportingController: reportingController,
		ReportingInstance:   printable(e.opts.Instance, maxInstance),
		Action:              "Audit",
		Type:                n.kind,
		Reason:              n.reason,
		Regarding:           *object,
		Related: &corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.Kind, Namespace: e.namespace, Name: n.record.ID,
		},
		Note: note(n),
	}
}

// eventName names an Event after the finding, what became of it in which of its
// lives, when that was, and the object. The time tells two changes of one life
// apart, and two findings of one name of which the first was deleted: a transition
// is stored by one publisher alone, so two times are two transitions.
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

// note is the text of an Event: the message, what to do while it is so, and where
// more is to be read. Names from the cluster are in it, so it is one line of what
// prints.
func note(n entry) string {
	r := n.record
	after := fmt.Sprintf(" (%s, finding %s)", r.Severity, r.ID)
	text := n.before + r.Message
	if r.State != audit.StateResolved {
		text += " " + r.Remedy
	}
	return cutBytes(flat(text), maxNote-len(after)) + after
}

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

func compareIDs(a, b *audit.Record) int { return strings.Compare(a.ID, b.ID) }

package store

import (
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/rules"
)

// newFinding makes the custom resource of a record that fits.
func newFinding(r audit.Record) *v1alpha1.Finding {
	return &v1alpha1.Finding{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: r.ID},
		Spec: v1alpha1.FindingSpec{
			Rule: r.Rule,
			Subject: v1alpha1.Subject{
				Kind: r.Subject.Kind, Namespace: r.Subject.Namespace, Name: r.Subject.Name, Detail: r.Subject.Detail,
			},
		},
	}
}

// newStatus makes the status of the custom resource of a record that fits.
func newStatus(r audit.Record) *v1alpha1.FindingStatus {
	s := &v1alpha1.FindingStatus{
		State:         v1alpha1.State(r.State),
		Reason:        string(r.Reason),
		Verdict:       r.Verdict,
		Culprit:       r.Culprit,
		Title:         readable(r.Subject.String()),
		OwnerList:     readable(strings.Join(r.Owners, ", ")),
		Message:       r.Message,
		Cause:         r.Cause,
		Remedy:        r.Remedy,
		MoreObjects:   int32(r.MoreObjects),
		MoreOwners:    int32(r.MoreOwners),
		Sweeps:        int32(r.Sweeps),
		FirstSeen:     newTime(r.FirstSeen),
		OpenedAt:      newTime(r.OpenedAt),
		ResolvedAt:    newTime(r.ResolvedAt),
		Reopened:      int32(r.Reopened),
		Storm:         r.Storm,
		Notifications: newNotifications(r.Notifications),
	}
	if r.Severity != 0 {
		s.Severity = r.Severity.String()
	}
	for _, o := range r.Owners {
		s.Owners = append(s.Owners, v1alpha1.Owner(o))
	}
	for _, o := range r.Objects {
		s.Objects = append(s.Objects, newObject(o))
	}
	return s
}

func newObject(o rules.Object) v1alpha1.Object {
	return v1alpha1.Object{
		Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		Owner: o.Owner, CreatedAt: newTime(o.Created), Reason: o.Reason, Detail: o.Detail,
	}
}

func newTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

// readable makes a text safe to print in a column on a terminal.
func readable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
	return cut(text, v1alpha1.MaxTitle)
}

func newNotifications(list []audit.Notification) []v1alpha1.Notification {
	var out []v1alpha1.Notification
	for _, m := range list {
		out = append(out, v1alpha1.Notification{
			Sender: m.Sender, Owner: v1alpha1.Owner(m.Owner), Pending: v1alpha1.Event(m.Pending),
			ClaimedBy: m.Claim.By, ClaimedAt: newTime(m.Claim.At), ClaimedWithLease: m.Claim.WithLease,
			Last: v1alpha1.Event(m.Last), At: newTime(m.At),
			Channel: m.Message.Channel, Message: m.Message.Message, Error: m.Error,
			Attempts: int32(m.Attempt.Count), AttemptedAt: newTime(m.Attempt.At), AttemptID: m.Attempt.ID,
		})
	}
	return out
}

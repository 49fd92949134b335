package store

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Fit returns a record as a Store keeps it, which is what Load returns later. Texts
// are cut at the limits of the custom resource and end in "…", invalid UTF-8 becomes
// U+FFFD, times are whole seconds of UTC, and of too many objects the first are kept
// and the others are counted. A record that fits is returned unchanged.
//
// What a sweep found must be fitted before it is compared with what is stored:
// otherwise a record that does not fit would differ, and be written, in every sweep.
func Fit(r audit.Record) audit.Record {
	r.Finding = FitFinding(r.Finding)
	r.MoreOwners = count(r.MoreOwners + max(len(r.Owners)-v1alpha1.MaxOwners, 0))
	r.Owners, r.Ranks = r.Owners[:min(len(r.Owners), v1alpha1.MaxOwners)], nil
	r.Reason = audit.Reason(cut(string(r.Reason), v1alpha1.MaxWord))
	r.Sweeps, r.Reopened = count(r.Sweeps), count(r.Reopened)
	r.OpenedAt, r.ResolvedAt = seconds(r.OpenedAt), seconds(r.ResolvedAt)
	r.Notifications = fitNotifications(r.Notifications)
	return r
}

// FitFinding is Fit for the part of a record that a sweep evaluates. It keeps all owners:
// which of them come first is for audit.Reconciler.
func FitFinding(f audit.Finding) audit.Finding {
	f.Subject = rules.Subject{
		Kind:      cut(f.Subject.Kind, v1alpha1.MaxWord),
		Namespace: cut(f.Subject.Namespace, v1alpha1.MaxName),
		Name:      cut(f.Subject.Name, v1alpha1.MaxSubjectName),
		Detail:    cut(f.Subject.Detail, v1alpha1.MaxWord),
	}
	if f.Severity > rules.High {
		f.Severity = 0
	}
	f.Verdict = cut(f.Verdict, v1alpha1.MaxWord)
	f.Culprit = cut(f.Culprit, v1alpha1.MaxName)
	f.Owners, f.Ranks = fitOwners(f.Owners), fitRanks(f.Ranks)
	f.Message = cut(f.Message, v1alpha1.MaxText)
	f.Cause = cut(f.Cause, v1alpha1.MaxText)
	f.Remedy = cut(f.Remedy, v1alpha1.MaxText)
	f.FirstSeen = seconds(f.FirstSeen)
	f.MoreOwners = count(f.MoreOwners)
	f.MoreObjects = count(f.MoreObjects + max(len(f.Objects)-v1alpha1.MaxObjects, 0))
	f.Objects = fitObjects(f.Objects)
	return f
}

func fitOwners(owners []string) []string {
	var out []string
	for _, o := range owners {
		if o != "" {
			out = append(out, cut(o, v1alpha1.MaxName))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func fitRanks(ranks []audit.OwnerRank) []audit.OwnerRank {
	var out []audit.OwnerRank
	for _, r := range ranks {
		r.Owner = cut(r.Owner, v1alpha1.MaxName)
		out = append(out, r)
	}
	return out
}

func fitObjects(objects []rules.Object) []rules.Object {
	objects = objects[:min(len(objects), v1alpha1.MaxObjects)]
	if len(objects) == 0 {
		return nil
	}
	out := make([]rules.Object, 0, len(objects))
	for _, o := range objects {
		out = append(out, rules.Object{
			Ref: snapshot.Ref{
				Group:     cut(o.Group, v1alpha1.MaxName),
				Kind:      cut(o.Kind, v1alpha1.MaxWord),
				Namespace: cut(o.Namespace, v1alpha1.MaxName),
				Name:      cut(o.Name, v1alpha1.MaxName),
			},
			Owner:   cut(o.Owner, v1alpha1.MaxName),
			Created: seconds(o.Created),
			Reason:  cut(o.Reason, v1alpha1.MaxWord),
			Detail:  cut(o.Detail, v1alpha1.MaxDetail),
		})
	}
	return out
}

// MaxNotifications is how many owners, and how many notifications, a finding keeps:
// there is one for each owner and sender.
const MaxNotifications = v1alpha1.MaxNotifications

// fitNotifications returns the notifications that a finding keeps. Those beyond the
// limit would be lost and sent again: audit.Reconciler.MaxNotifications prevents that.
func fitNotifications(list []audit.Notification) []audit.Notification {
	var out []audit.Notification
	for _, m := range list[:min(len(list), v1alpha1.MaxNotifications)] {
		m.Sender, m.Owner = kube.Printable(m.Sender, v1alpha1.MaxWord), cut(m.Owner, v1alpha1.MaxName)
		m.Claim.By = kube.Printable(m.Claim.By, v1alpha1.MaxName)
		m.Message.Channel = kube.Printable(m.Message.Channel, v1alpha1.MaxWord)
		m.Message.Message = kube.Printable(m.Message.Message, v1alpha1.MaxWord)
		m.Error = kube.Printable(m.Error, v1alpha1.MaxError)
		m.Attempt.ID, m.Attempt.Count = kube.Printable(m.Attempt.ID, v1alpha1.MaxWord), count(m.Attempt.Count)
		m.At, m.Claim.At, m.Attempt.At = seconds(m.At), seconds(m.Claim.At), seconds(m.Attempt.At)
		out = append(out, m)
	}
	return out
}

// cut returns a text in valid UTF-8, of at most so many letters.
func cut(text string, letters int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= letters || utf8.RuneCountInString(text) <= letters {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == letters {
			return text[:i] + ellipsis
		}
	}
	return text
}

const ellipsis = "…"

// seconds returns a time as JSON holds it: a whole second of UTC. A time whose year
// JSON can't hold becomes the zero time.
func seconds(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

func count(n int) int { return min(max(n, 0), math.MaxInt32) }

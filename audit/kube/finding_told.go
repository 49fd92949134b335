package kube

import (
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// MaxTold is of how many owners and senders a finding keeps what they were told.
const MaxNotifications = v1alpha1.MaxNotifications

// fitTold returns what a finding holds of what owners were told. Those beyond the
// limit are lost and would be told again: Reconciliation.MaxTold sees to it that
// there are none.
func fitTold(told []audit.Notification) []audit.Notification {
	var out []audit.Notification
	for _, m := range told[:min(len(told), v1alpha1.MaxNotifications)] {
		m.Sender, m.Owner = printable(m.Sender, v1alpha1.MaxWord), cut(m.Owner, v1alpha1.MaxName)
		m.Claim.By = printable(m.Claim.By, v1alpha1.MaxName)
		m.Message.Channel = printable(m.Message.Channel, v1alpha1.MaxWord)
		m.Message.Message = printable(m.Message.Message, v1alpha1.MaxWord)
		m.Error = printable(m.Error, v1alpha1.MaxError)
		m.At, m.Claim.At = seconds(m.At), seconds(m.Claim.At)
		out = append(out, m)
	}
	return out
}

// printable returns a text in ASCII that can be printed. It comes from senders and
// receivers, which have no need of more.
func printable(text string, letters int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), letters)]
}

func newTold(told []audit.Notification) []v1alpha1.Notification {
	var out []v1alpha1.Notification
	for _, m := range told {
		out = append(out, v1alpha1.Notification{
			Sender: m.Sender, Owner: v1alpha1.Owner(m.Owner), Pending: v1alpha1.Event(m.Pending),
			ClaimedBy: m.Claim.By, ClaimedAt: newTime(m.Claim.At), ClaimedWithLease: m.Claim.WithLease,
			Last: v1alpha1.Event(m.Last), At: newTime(m.At),
			Channel: m.Message.Channel, Message: m.Message.Message, Error: m.Error,
		})
	}
	return out
}

func readTold(told []v1alpha1.Notification) []audit.Notification {
	var out []audit.Notification
	for _, m := range told {
		out = append(out, audit.Notification{
			Sender: m.Sender, Owner: string(m.Owner), Pending: audit.Event(m.Pending),
			Claim: audit.Claim{By: m.ClaimedBy, At: readTime(m.ClaimedAt), WithLease: m.ClaimedWithLease},
			Last:  audit.Event(m.Last), At: readTime(m.At),
			Message: audit.MessageRef{Channel: m.Channel, Message: m.Message}, Error: m.Error,
		})
	}
	return out
}

package kube

import (
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
)

// MaxTold is of how many owners and senders a finding keeps what they were told.
const MaxTold = v1alpha1.MaxTold

// fitTold returns what a finding holds of what owners were told. Those beyond the
// limit are lost and would be told again: Reconciliation.MaxTold sees to it that
// there are none.
func fitTold(told []audit.Told) []audit.Told {
	var out []audit.Told
	for _, m := range told[:min(len(told), v1alpha1.MaxTold)] {
		m.Sender, m.Owner = printable(m.Sender, v1alpha1.MaxWord), cut(m.Owner, v1alpha1.MaxName)
		m.Taken.By = printable(m.Taken.By, v1alpha1.MaxName)
		m.Place.Channel = printable(m.Place.Channel, v1alpha1.MaxWord)
		m.Place.Message = printable(m.Place.Message, v1alpha1.MaxWord)
		m.Error = printable(m.Error, v1alpha1.MaxError)
		m.At, m.Taken.At = seconds(m.At), seconds(m.Taken.At)
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

func newTold(told []audit.Told) []v1alpha1.Told {
	var out []v1alpha1.Told
	for _, m := range told {
		out = append(out, v1alpha1.Told{
			Sender: m.Sender, Owner: v1alpha1.Owner(m.Owner), Due: v1alpha1.Event(m.Due),
			TakenBy: m.Taken.By, TakenAt: newTime(m.Taken.At), TakenLeased: m.Taken.Leased,
			Last: v1alpha1.Event(m.Last), At: newTime(m.At),
			Channel: m.Place.Channel, Message: m.Place.Message, Error: m.Error,
		})
	}
	return out
}

func readTold(told []v1alpha1.Told) []audit.Told {
	var out []audit.Told
	for _, m := range told {
		out = append(out, audit.Told{
			Sender: m.Sender, Owner: string(m.Owner), Due: audit.Event(m.Due),
			Taken: audit.Taken{By: m.TakenBy, At: readTime(m.TakenAt), Leased: m.TakenLeased},
			Last:  audit.Event(m.Last), At: readTime(m.At),
			Place: audit.Place{Channel: m.Channel, Message: m.Message}, Error: m.Error,
		})
	}
	return out
}

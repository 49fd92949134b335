package slack

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// subject names what a finding is on: Host `shop.example.com`.
func subject(r *audit.Record) line {
	return line{prose(r.Subject.Kind+" ", maxLineName), name(r.Subject.String(), maxLineName)}
}

// marked is a line behind an emoji.
func marked(by string, l line) line { return append(line{emoji(by), words(" ")}, l...) }

// summary is a finding in a list.
func summary(i notify.Item) line { return marked(severityEmoji(i.Record.Severity), said(i)) }

// said is what there is to say of a finding in a list.
func said(i notify.Item) line {
	l := subject(&i.Record)
	if i.Record.Reopened > 0 {
		l = append(l, strong(" is back"))
	}
	l = append(l, words(": "), prose(i.Record.Message, maxLine))
	return append(l, whose(i)...)
}

// whose names the others who own a finding.
func whose(i notify.Item) line {
	if others := others(i); len(others) > 0 {
		return line{words(" Also of "), prose(strings.Join(others, ", "), maxLine), words(".")}
	}
	return nil
}

// others are the owners of a finding who are not told by the item, sorted.
func others(i notify.Item) []string {
	var out []string
	for _, owner := range i.Record.Owners {
		if !slices.Contains(i.Owners, owner) {
			out = append(out, owner)
		}
	}
	return out
}

// state is a finding in a list that is brought up to date.
func state(i notify.Item) line {
	switch {
	case i.Record.State == audit.StateResolved && i.Record.Reason == audit.ReasonResolved:
		return marked(emojiMended, said(i).struck())
	case i.Record.State == audit.StateResolved:
		return marked(emojiClosed, said(i).struck())
	case over(i):
		return marked(emojiGiven, said(i).struck())
	}
	return summary(i)
}

// released reports whether a finding is none of theirs any more.
func released(i notify.Item) bool {
	return len(i.Owners) > 0 && !slices.ContainsFunc(i.Owners, func(owner string) bool {
		return slices.Contains(i.Record.Owners, owner)
	})
}

// details is all that there is to know of a finding.
func details(i notify.Item, d *notify.Digest) slack.Block {
	rec := &i.Record
	first := marked(severityEmoji(rec.Severity), subject(rec))
	lines := []line{append(first, words("  "+rec.Severity.String()+"  "), prose(rec.Rule, maxLineName))}
	for _, p := range []struct{ label, text string }{{"What ", rec.Message}, {"Why ", rec.Cause}, {"Do ", rec.Remedy}} {
		if p.text != "" {
			lines = append(lines, line{strong(p.label), prose(p.text, maxProse)})
		}
	}
	if len(others(i)) > 0 {
		lines = append(lines, line{strong("Who "), prose(strings.Join(rec.Owners, ", "), maxLine)})
	}
	block := paragraphs(lines...)
	if len(rec.Objects) > 0 {
		list := slack.NewRichTextList(slack.RTEListBullet, 0)
		shown := rec.Objects[:min(len(rec.Objects), maxObjects)]
		for _, o := range shown {
			list.Elements = append(list.Elements, object(o, d.Now).section())
		}
		if more := len(rec.Objects) + rec.MoreObjects - len(shown); more > 0 {
			list.Elements = append(list.Elements, line{words("and " + strconv.Itoa(more) + " more")}.section())
		}
		block.Elements = append(block.Elements, list)
	}
	block.Elements = append(block.Elements, line{name("kubectl describe finding -n "+d.Namespace+" "+rec.ID, maxName)}.section())
	return block
}

// object is an object that a finding rests on.
func object(o rules.Object, now time.Time) line {
	l := line{name(o.Ref.String(), maxName)}
	if o.Owner != "" {
		l = append(l, words(" of "), prose(o.Owner, maxLine))
	}
	if !o.Created.IsZero() {
		l = append(l, words(", created "+o.Created.UTC().Format(time.DateTime)+"Z"))
		if age := now.Sub(o.Created); age > 0 {
			l = append(l, words(" ("+rules.Age(age)+" ago)"))
		}
	}
	if o.Detail != "" {
		l = append(l, words(": "), prose(o.Detail, maxLine))
	}
	return l
}

func severityEmoji(s rules.Severity) string {
	switch s {
	case rules.High:
		return emojiHigh
	case rules.Medium:
		return emojiMedium
	}
	return emojiLow
}

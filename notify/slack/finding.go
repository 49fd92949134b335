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

// subject is the subject of a finding: Host `shop.example.com`.
func subject(r *audit.Record) line {
	return line{prose(r.Subject.Kind+" ", maxLineName), name(r.Subject.String(), maxLineName)}
}

// marked is a line that starts with an emoji.
func marked(by string, l line) line { return append(line{emoji(by), words(" ")}, l...) }

// listed is a finding in a list.
func listed(i notify.Item) line { return marked(severityEmoji(i.Record.Severity), summary(i)) }

// summary is a finding in a list, without an emoji.
func summary(i notify.Item) line {
	l := subject(&i.Record)
	if i.Record.Reopened > 0 {
		l = append(l, bold(" reopened"))
		if i.ComesAndGoes() {
			l = append(l, words(" "+strconv.Itoa(i.Record.Reopened)+" times (it keeps coming and going: the next message comes once it has been the same for 30 minutes, or after an hour)"))
		}
	}
	l = append(l, words(": "), prose(i.Record.Message, maxLine))
	if others := otherOwners(i); len(others) > 0 {
		l = append(l, words(" Also owned by "), prose(strings.Join(others, ", "), maxLine))
		l = append(append(l, moreOwners(&i.Record)...), words("."))
	}
	return l
}

// moreOwners counts the owners who are not notified, because there are too many.
func moreOwners(rec *audit.Record) line {
	if rec.MoreOwners == 0 {
		return nil
	}
	return line{words(" and " + strconv.Itoa(rec.MoreOwners) + " more, who are not notified")}
}

// otherOwners returns the owners of a finding whom the item does not notify, sorted.
func otherOwners(i notify.Item) []string {
	var out []string
	for _, owner := range i.Record.Owners {
		if !slices.Contains(i.Owners, owner) {
			out = append(out, owner)
		}
	}
	return out
}

// current is a finding in a list as it is now, struck through if it is done.
func current(i notify.Item) line {
	switch {
	case i.Record.State == audit.StateResolved && i.Record.Reason == audit.ReasonResolved:
		return marked(emojiResolved, summary(i).struck())
	case i.Record.State == audit.StateResolved:
		return marked(emojiClosed, summary(i).struck())
	case done(i):
		return marked(emojiReleased, summary(i).struck())
	}
	return listed(i)
}

// done reports whether the notified owners need not act on a finding anymore.
func done(i notify.Item) bool { return i.Record.State == audit.StateResolved || released(i) }

// released reports whether the notified owners no longer own a finding.
func released(i notify.Item) bool {
	return len(i.Owners) > 0 && !slices.ContainsFunc(i.Owners, func(owner string) bool {
		return slices.Contains(i.Record.Owners, owner)
	})
}

// details is a finding with everything that its owners need to act.
func details(i notify.Item, d *notify.Digest) slack.Block {
	rec := &i.Record
	first := marked(severityEmoji(rec.Severity), subject(rec))
	lines := []line{append(first, words("  "+rec.Severity.String()+"  "), prose(rec.Rule, maxLineName))}
	for _, p := range []struct{ label, text string }{{"What ", rec.Message}, {"Why ", rec.Cause}, {"Fix ", rec.Remedy}} {
		if p.text != "" {
			lines = append(lines, line{bold(p.label), prose(p.text, maxProse)})
		}
	}
	if len(otherOwners(i)) > 0 {
		lines = append(lines, append(line{bold("Owners "), prose(strings.Join(rec.Owners, ", "), maxLine)}, moreOwners(rec)...))
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

// object is an object that a finding is based on.
func object(o rules.Object, now time.Time) line {
	l := line{name(o.Ref.String(), maxName)}
	if o.Owner != "" {
		l = append(l, words(" owned by "), prose(o.Owner, maxLine))
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

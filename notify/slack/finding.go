package slack

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/notify/visible"
	"github.com/eventuallytrue/audit/rules"
)

// subject is the subject of a finding: Host `shop.example.com`.
func subject(r *audit.Record) line {
	return line{prose(r.Subject.Kind+" ", maxLineName), name(r.Subject.String(), maxLineName)}
}

// marked is a line that starts with an emoji.
func marked(by string, l line) line { return append(line{emoji(by), words(" ")}, l...) }

// entry is one line of a list, about findings that are alike.
type entry struct {
	items []notify.Item
	line  line
}

// entries returns the lines of a list: one for each subject, and one for more than a few
// findings that are alike.
func (p *planner) entries(items []notify.Item) []entry {
	byID := make(map[string]notify.Item, len(items))
	records := make([]audit.Record, len(items))
	for n, i := range items {
		byID[i.Record.ID], records[n] = i, i.Record
	}
	var out []entry
	for _, g := range report.NewView(records, p.Now, report.Selection{}, 0).Groups {
		for _, l := range g.Lines {
			e := entry{line: line{emoji(severityEmoji(l.Severity)), words(" "), name(l.Subject, maxLineName)}}
			for _, f := range l.Findings {
				e.items = append(e.items, byID[f.ID])
			}
			if l.Subjects() == 1 {
				e.line = append(append(e.line, cameBack(e.items[0])...), p.said(&l, e.items[0])...)
			} else {
				e.line = append(e.line, words(": "), prose(l.What, maxLine))
			}
			out = append(out, e)
		}
	}
	return out
}

// cameBack says that a finding was reopened.
func cameBack(i notify.Item) line {
	if i.Record.Reopened == 0 {
		return nil
	}
	l := line{bold(" reopened")}
	if i.ComesAndGoes() {
		l = append(l, words(" "+strconv.Itoa(i.Record.Reopened)+" times (it keeps coming and going: the next message comes once it has been the same for 30 minutes, or after an hour)"))
	}
	return l
}

// said says what is wrong with one subject, and who else owns it.
func (p *planner) said(l *report.Line, i notify.Item) line {
	others := otherOwners(i)
	if i.Record.Subject.Kind != rules.SubjectHost || len(others) == 0 {
		out := line{words(": "), prose(l.What, maxLine)}
		if len(others) > 0 {
			out = append(append(out, words(", also owned by ")), p.named(others, &i.Record)...)
		}
		return out
	}
	out := append(line{words(": also claimed by ")}, p.named(others, &i.Record)...)
	if v := i.Record.Verdict; v != "" && v != "contested" {
		out = append(out, words(" ("), prose(v, maxLineName), words(")"))
	}
	return out
}

// maxOthers is the number of other owners that a line names.
const maxOthers = 5

// named names other owners, with their channels.
func (p *planner) named(others []string, rec *audit.Record) line {
	var l line
	for n, owner := range others[:min(len(others), maxOthers)] {
		if n > 0 {
			l = append(l, words(", "))
		}
		l = append(l, prose(owner, maxLineName))
		if id := p.Guide.ChannelOf(owner); channelID.MatchString(id) {
			l = append(l, words(" ("), slack.NewRichTextSectionChannelElement(id, nil), words(")"))
		}
	}
	if more := len(others) - maxOthers; more > 0 {
		l = append(l, words(" and "+strconv.Itoa(more)+" more"))
	}
	return append(l, moreOwners(rec)...)
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

// settled are the lines of findings that need no more action, struck through.
func (p *planner) settled(items []notify.Item) []entry {
	var out []entry
	for _, class := range []struct {
		emoji string
		is    func(notify.Item) bool
	}{
		{emojiResolved, func(i notify.Item) bool {
			return i.Record.State == audit.StateResolved && i.Record.Reason == audit.ReasonResolved
		}},
		{emojiClosed, func(i notify.Item) bool {
			return i.Record.State == audit.StateResolved && i.Record.Reason != audit.ReasonResolved
		}},
		{emojiReleased, func(i notify.Item) bool { return i.Record.State != audit.StateResolved }},
	} {
		for _, e := range p.entries(slices.DeleteFunc(slices.Clone(items), func(i notify.Item) bool { return !class.is(i) })) {
			e.line = append(line{emoji(class.emoji)}, e.line[1:].struck()...)
			out = append(out, e)
		}
	}
	return out
}

// done reports whether the notified owners need not act on a finding anymore.
func done(i notify.Item) bool { return i.Record.State == audit.StateResolved || released(i) }

// released reports whether the notified owners no longer own a finding.
func released(i notify.Item) bool {
	return len(i.Owners) > 0 && !slices.ContainsFunc(i.Owners, func(owner string) bool {
		return slices.Contains(i.Record.Owners, owner)
	})
}

// detailsOf is a finding with everything that its owners need to act, and its fix. The fix is left out
// if it was shown before.
func (p *planner) detailsOf(i notify.Item, shownFix string) (slack.Block, string) {
	rec := &i.Record
	first := marked(severityEmoji(rec.Severity), subject(rec))
	lines := []line{append(first, words("  "+rec.Severity.String()+"  "), prose(rec.Rule, maxLineName))}
	for _, t := range []struct{ label, text string }{{"What ", rec.Message}, {"Why ", rec.Cause}, {"Fix ", rec.Remedy}} {
		if t.text != "" {
			lines = append(lines, line{bold(t.label), prose(t.text, maxProse)})
		}
	}
	if others := otherOwners(i); len(others) > 0 {
		lines = append(lines, append(line{bold("Other owners ")}, p.named(others, rec)...))
	}
	block := paragraphs(lines...)
	if len(rec.Objects) > 0 {
		list := slack.NewRichTextList(slack.RTEListBullet, 0)
		shown := rec.Objects[:min(len(rec.Objects), maxObjects)]
		for _, o := range shown {
			list.Elements = append(list.Elements, object(o, p.Now).section())
		}
		if more := len(rec.Objects) + rec.MoreObjects - len(shown); more > 0 {
			list.Elements = append(list.Elements, line{words("and " + strconv.Itoa(more) + " more")}.section())
		}
		block.Elements = append(block.Elements, list)
	}
	fix := p.Guide.FixFor(rec.ID)
	if fix != "" && fix != shownFix && utf8.RuneCountInString(fix) <= maxFix {
		block.Elements = append(block.Elements, &slack.RichTextPreformatted{
			Type: slack.RTEPreformatted, Elements: line{text(strings.TrimRight(visible.Lines(fix), "\n"), nil)},
		})
	}
	if rec.State != audit.StateResolved {
		block.Elements = append(block.Elements, p.where(rec).section())
	}
	return block, fix
}

// maxFix is how long a fix may be, in characters. A longer one is in audit explain.
const maxFix = 1500

// where says where there is more about a finding: the pages of the config, or else the
// command that shows it.
func (p *planner) where(rec *audit.Record) line {
	finding, rule := p.Guide.Links(rec)
	if finding == "" && rule == "" {
		return line{name("kubectl describe finding -n "+p.Namespace+" "+rec.ID, maxName)}
	}
	var l line
	if finding != "" {
		l = append(l, slack.NewRichTextSectionLinkElement(finding, "Finding", nil))
	}
	if rule != "" {
		if len(l) > 0 {
			l = append(l, words(" · "))
		}
		l = append(l, slack.NewRichTextSectionLinkElement(rule, "About the rule", nil))
	}
	return l
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

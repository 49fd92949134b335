package report

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxProblems is how many problems a table lists.
const maxProblems = 20

// incomplete writes what is not known: the kinds and documents that were not
// read, and the rules that could not judge.
func (p *page) incomplete(res *audit.Result) {
	p.text(0, span{"INCOMPLETE  ", red}, "What this report does not show may be there all the same.")
	p.blank()
	unread := p.unreadKinds(res.Reads)
	nothing := !p.wide && len(unread) == 1 && nothingRead(res.Reads)
	for _, u := range unread {
		text := show(u.reason)
		if !u.alike {
			text = "for example: " + text
		}
		kinds := join(u.kinds)
		if nothing {
			kinds = "all " + count(len(u.kinds), "kind")
		}
		p.unknown(show(string(u.status)), kinds)
		if u.reason != "" {
			p.unknown("", text)
		}
	}
	for i, pr := range res.Problems {
		if !p.wide && i == maxProblems {
			p.unknown("", "and "+number(len(res.Problems)-i)+" more (-o wide shows all)")
			break
		}
		p.unknown("problem", show(pr.Where)+": "+show(trim(pr.Reason)))
	}
	p.idle(res.Rules, nothing)
	p.blank()
}

// unknown writes one thing that is not known, behind a word for the sort of
// it.
func (p *page) unknown(word, text shown) {
	const indent, width = 2, 11
	p.text(indent, span{text: pad(cut(word, width-1), width)}, text)
}

// nothingRead reports whether the reading of every kind failed, as where no server
// answers: to name each of them, and for each rule again, would hide why. Those that
// are forbidden are named all the same, for whoever grants the rights.
func nothingRead(reads []snapshot.Read) bool {
	return len(reads) > 1 && !slices.ContainsFunc(reads, func(r snapshot.Read) bool { return r.Status != snapshot.Failed })
}

// idle writes which rules did not judge, and why.
func (p *page) idle(outcomes []audit.Outcome, nothingRead bool) {
	type cause struct {
		status audit.OutcomeStatus
		reason string
	}
	var causes []cause
	names := map[cause][]string{}
	for _, o := range outcomes {
		if o.Status == audit.RuleRan {
			continue
		}
		c := cause{o.Status, trim(o.Reason)}
		if nothingRead && o.Status == audit.RuleSkipped {
			c.reason = "nothing was read"
		}
		if names[c] == nil {
			causes = append(causes, c)
		}
		names[c] = append(names[c], o.Rule)
	}
	for _, c := range causes {
		text := join(names[c]) + " (" + show(string(c.status)) + ")"
		if c.reason != "" {
			text += ": " + show(c.reason)
		}
		p.unknown("not run", text)
	}
	if len(causes) == 0 {
		p.unknown("", "Every rule judged what was read. What it would have found in the rest is unknown, not absent.")
		return
	}
	p.unknown("", "What a rule that did not run would have found is unknown, not absent.")
}

// trim drops what error messages of several lines end with.
func trim(s string) string { return strings.TrimRight(s, " \n") }

// unread are kinds that could not be read for one reason.
type unread struct {
	status snapshot.Status
	reason string // of the first kind
	kinds  []string
	alike  bool // the reason is that of all kinds, word for word
}

// unreadKinds groups the kinds that were not read by what stood in the way. API
// servers name the kind in the reason, so what differs in that alone is one
// reason; but wide keeps every one.
func (p *page) unreadKinds(reads []snapshot.Read) []*unread {
	var groups []*unread
	sames := map[string]*unread{}
	for _, r := range reads {
		if r.Status.Known() {
			continue
		}
		reason := withoutKind(r)
		if p.wide {
			reason = r.Err
		}
		key := string(r.Status) + " " + reason
		u := sames[key]
		if u == nil {
			u = &unread{status: r.Status, reason: trim(r.Err), alike: true}
			sames[key] = u
			groups = append(groups, u)
		}
		u.kinds = append(u.kinds, string(r.Kind))
		u.alike = u.alike && u.reason == trim(r.Err)
	}
	slices.SortStableFunc(groups, func(a, b *unread) int { return -strings.Compare(string(a.status), string(b.status)) })
	return groups
}

// withoutKind returns why a kind was not read without the words that name it.
func withoutKind(r snapshot.Read) string {
	return strings.NewReplacer(
		string(r.Kind), "",
		`"`+r.Kind.Resource()+`"`, "",
		`"`+r.Kind.Group()+`"`, "",
		"/"+r.Kind.Resource(), "",
		"/"+r.Kind.Group()+"/", "/",
	).Replace(r.Err)
}

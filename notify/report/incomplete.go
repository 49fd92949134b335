package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxProblems is the number of problems that a table lists.
const maxProblems = 20

// incomplete writes what is unknown: the kinds and documents that could not be read, and
// the rules that did not run.
func (p *printer) incomplete(res *audit.Result) {
	p.text(0, span{"INCOMPLETE  ", red}, "Findings may be missing from this report.")
	p.blank()
	unread := p.unreadKinds(res.Reads)
	nothing := !p.wide && len(unread) == 1 && nothingRead(res.Reads)
	for i, u := range unread {
		text := show(u.reason)
		if !u.alike {
			text = "for example: " + text
		}
		kinds := join(u.kinds)
		switch {
		case nothing:
			kinds = "all " + count(len(u.kinds), "kind")
		case !p.wide && len(u.kinds) > maxKinds:
			kinds = count(len(u.kinds), "kind") + ": " + join(u.kinds[:fewKinds]) + ", " + number(len(u.kinds)-fewKinds) + " more (-o wide names all)"
		}
		p.unknown(show(string(u.status)), kinds)
		if u.reason != "" {
			p.unknown("", text)
		}
		p.nextStep(u, nothing)
		if u.status == snapshot.Forbidden && (i == len(unread)-1 || unread[i+1].status != u.status) {
			p.grant(u.reason)
		}
	}
	p.problems(res.Problems)
	p.faults(res.Faults)
	p.notRun(res.Rules, nothing || !p.wide && noneKnown(res.Reads))
	p.blank()
}

// maxKinds is the number of kinds with one reason that a table names; of more, it names
// fewKinds.
const (
	maxKinds = 5
	fewKinds = 3
)

// nextStep writes what a user can do about kinds that could not be read.
func (p *printer) nextStep(u *unread, nothing bool) {
	switch {
	case strings.Contains(u.reason, "HTTP 401"), strings.Contains(u.reason, "getting credentials: "):
		p.unknown("", "Log in again: the server does not accept the credentials of the kubeconfig.")
	case nothing:
		p.unknown("", "Check the context, and that the server can be reached from here:")
		p.command("kubectl config current-context && kubectl cluster-info")
	}
}

// grant writes how to get the rights that a server misses, once for all kinds.
func (p *printer) grant(reason string) {
	who, _ := subjectFlag(reason)
	if who == "--user=system:anonymous" {
		p.unknown("", "Log in: the server does not know who you are.")
		return
	}
	p.unknown("", "An administrator can grant the rights:")
	p.command(p.program + " config rights | kubectl apply -f -")
	p.command("kubectl create clusterrolebinding audit-read-only --clusterrole=audit-read-only " + who)
}

// command writes a line to be pasted into a shell. It is never wrapped, because the parts
// would be other commands.
func (p *printer) command(text shown) { p.line(span{text: blanks(15) + text}) }

// denied matches the user in an API server's refusal, and plainUser a name that shells take
// literally: anybody may have any name.
var (
	denied    = regexp.MustCompile(`User "([^"]*)" cannot `)
	plainUser = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9@._:/-]*$`)
)

// subjectFlag returns the flag of kubectl create clusterrolebinding for the user whom a
// server refused, and whether it knows them.
func subjectFlag(reason string) (shown, bool) {
	m := denied.FindStringSubmatch(reason)
	if m == nil || !plainUser.MatchString(m[1]) || len(m[1]) > 100 {
		return "--user=ME", false
	}
	if account, ok := strings.CutPrefix(m[1], "system:serviceaccount:"); ok {
		return "--serviceaccount=" + show(account), true
	}
	return "--user=" + show(m[1]), true
}

// problems writes the problems, those with one reason as one with their number.
func (p *printer) problems(list []audit.Problem) {
	groups := p.alike(list)
	for i, g := range groups {
		if !p.wide && i == maxProblems {
			left := 0
			for _, g := range groups[i:] {
				left += g.count
			}
			p.unknown("", "and "+number(left)+" more (-o wide shows all)")
			return
		}
		text := show(g.first.Where) + ": " + show(trim(g.first.Reason))
		if g.count > 1 {
			text += " (and " + number(g.count-1) + " more like this; -o wide shows all)"
		}
		p.unknown("problem", text)
	}
}

// maxFaults is the number of objects that could not be evaluated that a table lists.
const maxFaults = 20

// faults writes the objects that could not be read or evaluated. Nothing else depends on
// them than what they may be about.
func (p *printer) faults(list []audit.ObjectFault) {
	for i, f := range list {
		word := shown("")
		if i == 0 {
			word = "object"
		}
		if !p.wide && i == maxFaults {
			p.unknown("", "and "+number(len(list)-i)+" more not evaluated (-o wide shows all)")
			return
		}
		text := show(f.Ref.String()) + " not evaluated: " + show(trim(f.Reason))
		if f.Owner != "" {
			text += " (" + show(f.Owner) + ")"
		}
		p.unknown(word, text)
	}
}

// alike is the problems with one reason.
type alike struct {
	first audit.Problem
	count int
}

// alike groups problems by reason: those that lost an object that rules evaluate first, and
// then those that there are most of. In wide output each stands for itself.
func (p *printer) alike(list []audit.Problem) []*alike {
	type key struct {
		kind, reason string
	}
	var groups []*alike
	by := map[key]*alike{}
	for i, pr := range list {
		k := key{pr.Kind, cmp.Or(pr.Like, trim(pr.Reason))}
		if p.wide {
			k.reason = string(number(i))
		}
		if g, ok := by[k]; ok {
			g.count++
			continue
		}
		by[k] = &alike{first: pr, count: 1}
		groups = append(groups, by[k])
	}
	slices.SortStableFunc(groups, func(a, b *alike) int {
		lost := func(g *alike) int { return min(len(g.first.Kind), 1) }
		return cmp.Or(cmp.Compare(lost(b), lost(a)), cmp.Compare(b.count, a.count))
	})
	return groups
}

// unknown writes one thing that is unknown, after a word for its category.
func (p *printer) unknown(word, text shown) {
	const indent, width = 2, 11
	p.text(indent, span{text: pad(cut(word, width-1), width)}, text)
}

// nothingRead reports whether every kind failed, as when no server responds. Naming each
// kind, and again for each rule, would hide the reason. Forbidden kinds are always
// named, because someone has to grant the rights.
func nothingRead(reads []snapshot.Read) bool {
	return len(reads) > 1 && !slices.ContainsFunc(reads, func(r snapshot.Read) bool { return r.Status != snapshot.Failed })
}

// noneKnown reports whether nothing is known of any kind.
func noneKnown(reads []snapshot.Read) bool {
	return len(reads) > 0 && !slices.ContainsFunc(reads, func(r snapshot.Read) bool { return r.Status.Known() })
}

// notRun writes which rules did not run, and why.
func (p *printer) notRun(outcomes []audit.Outcome, nothingRead bool) {
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
		} else if parts := strings.Split(c.reason, ", "); !p.wide && o.Status == audit.RuleSkipped && len(parts) > maxKinds {
			c.reason = strings.Join(parts[:fewKinds], ", ") + ", " + string(number(len(parts)-fewKinds)) + " more"
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
		p.unknown("", "Every rule ran on what was read. Findings in the rest are unknown, not absent.")
		return
	}
	p.unknown("", "Findings of rules that did not run are unknown, not absent.")
}

// trim removes the trailing newline of a multi-line error message.
func trim(s string) string { return strings.TrimRight(s, " \n") }

// unread is the kinds that could not be read for the same reason.
type unread struct {
	status snapshot.Status
	reason string // of the first kind
	kinds  []string
	alike  bool // all kinds have exactly this reason
}

// unreadKinds groups the kinds that could not be read by reason. API servers name the
// kind in the reason, so reasons that differ only in the kind count as the same,
// except in wide output.
func (p *printer) unreadKinds(reads []snapshot.Read) []*unread {
	var groups []*unread
	sames := map[string]*unread{}
	for _, r := range reads {
		if r.Status.Known() {
			continue
		}
		reason := withoutKind(r)
		switch {
		case p.wide:
			reason = r.Err
		case r.Status == snapshot.Forbidden:
			reason = "" // whatever the server says, someone has to grant the rights
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

// withoutKind returns the reason without the name of the kind.
func withoutKind(r snapshot.Read) string {
	return strings.NewReplacer(
		string(r.Kind), "",
		`"`+r.Kind.Resource()+`"`, "",
		`"`+r.Kind.Group()+`"`, "",
		"/"+r.Kind.Resource(), "",
		"/"+r.Kind.Group()+"/", "/",
	).Replace(r.Err)
}

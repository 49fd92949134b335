package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// few is the number of like lines that each keep a line of their own.
const few = 3

// fold makes one line of like ones, if there are more than a few. The same owners come
// first. If there are more lines than most, the largest classes of lines fold across
// owners, except for the only line of an owner: first those that one namespace caused, then
// also those of several. If that isn't enough, the only lines fold too, but only with each
// other: what one team has to do must not disappear in what another has.
func fold(lines []Line, all bool, most int) []Line {
	if all {
		return lines
	}
	folded := foldBy(lines, sameOwners)
	if most == 0 || len(folded) <= most {
		return folded
	}
	only := onlyOnes(lines)
	for _, class := range []func(*Line) string{classOfCulprit, classOf} {
		folded = foldUntil(lines, most, func(l *Line) string {
			if only(l) {
				return ""
			}
			return class(l)
		})
		if len(folded) <= most {
			return folded
		}
	}
	return foldUntil(lines, most, func(l *Line) string { return classOf(l) + fmt.Sprint(only(l)) })
}

// sameOwners is the key of lines that are alike and have the same owners.
func sameOwners(l *Line) string {
	first := &l.Findings[0]
	owners := strings.Join(first.Owners, "\x00")
	if isOwnerless(first) {
		owners = noOwner
	}
	return strings.Join([]string{l.Severity.String(), first.Rule, first.Subject.Kind, stateOf(first), l.phrase.like, owners, culpritOf(first)}, "\x00")
}

// culpritOf is the namespace that caused a finding on something else.
func culpritOf(r *audit.Record) string {
	if r.Subject.Kind == rules.SubjectNamespace {
		return ""
	}
	return r.Culprit
}

// classOf is the key of lines that are alike in the main point.
func classOf(l *Line) string {
	first := &l.Findings[0]
	return strings.Join([]string{l.Severity.String(), first.Rule, first.Subject.Kind, stateOf(first), l.phrase.class}, "\x00")
}

// classOfCulprit is classOf for each namespace that caused such lines.
func classOfCulprit(l *Line) string { return classOf(l) + "\x00" + culpritOf(&l.Findings[0]) }

// onlyOnes returns a function that reports whether a line is the only one of one of its
// owners. A namespace without an owner has no one who would look for it.
func onlyOnes(lines []Line) func(*Line) bool {
	n := map[string]int{}
	for i := range lines {
		for _, o := range lines[i].Findings[0].Owners {
			n[o]++
		}
	}
	return func(l *Line) bool {
		first := &l.Findings[0]
		return slices.ContainsFunc(first.Owners, func(o string) bool { return n[o] == 1 && !isNamespaceOwner(first, o) })
	}
}

// foldUntil folds the largest classes first, and each that is left over by owners, until
// there are at most so many lines. Lines without a class stay as they are.
func foldUntil(lines []Line, most int, class func(*Line) string) []Line {
	size := map[string]int{}
	for i := range lines {
		if c := class(&lines[i]); c != "" {
			size[c]++
		}
	}
	var classes []string
	for c, n := range size {
		if n > few {
			classes = append(classes, c)
		}
	}
	slices.SortFunc(classes, func(a, b string) int { return cmp.Or(-cmp.Compare(size[a], size[b]), strings.Compare(a, b)) })
	folded := lines
	for n := range classes {
		folded = foldBy(lines, func(l *Line) string {
			if c := class(l); slices.Contains(classes[:n+1], c) {
				return "class " + c
			}
			return "owners " + sameOwners(l)
		})
		if len(folded) <= most {
			break
		}
	}
	return folded
}

// foldBy makes one line of those with the same key, if there are more than a few.
func foldBy(lines []Line, key func(*Line) string) []Line {
	size := map[string]int{}
	for i := range lines {
		size[key(&lines[i])]++
	}
	var out []Line
	at := map[string]int{}
	for i := range lines {
		l := lines[i]
		k := key(&l)
		if size[k] <= few {
			out = append(out, l)
			continue
		}
		if j, ok := at[k]; ok {
			into := &out[j]
			into.Findings = append(into.Findings, l.Findings...)
			into.phrase = into.phrase.meet(l.phrase)
			if into.Since.IsZero() || !l.Since.IsZero() && l.Since.Before(into.Since) {
				into.Since = l.Since
			}
			continue
		}
		at[k] = len(out)
		l.Findings = slices.Clone(l.Findings)
		out = append(out, l)
	}
	return out
}

// meet returns what two phrases have in common.
func (p phrase) meet(o phrase) phrase {
	if p.like != o.like {
		p.like = p.class
	}
	return p
}

// maxNames is the number of names that a line of several subjects has.
const maxNames = 3

// foldText sets the text of a line with several subjects.
func (l *Line) foldText() {
	var names []string
	for i := range l.Findings {
		if i == 0 || !sameSubject(&l.Findings[i-1], &l.Findings[i]) {
			s := l.Findings[i].Subject
			if isDirection(&l.Findings[i]) {
				s.Detail = ""
			}
			names = append(names, s.String())
		}
	}
	slices.Sort(names)
	noun := strings.ToLower(l.Findings[0].Subject.Kind)
	if noun != strings.ToLower(rules.SubjectNamespace) && noun != strings.ToLower(rules.SubjectHost) {
		noun = l.Findings[0].Subject.Kind
	}
	l.Subject = thousands(len(names)) + " " + rules.Plural(noun)
	l.What = l.phrase.like
	if c := culpritOf(&l.Findings[0]); c != "" && !slices.ContainsFunc(l.Findings, func(r audit.Record) bool { return r.Culprit != c }) {
		l.What += ", last by namespace " + c
	}
	if prefix := commonPrefix(names); prefix != "" {
		l.Subject += " " + prefix + "*"
	} else if len(names) <= maxNames+1 {
		l.What += ": " + strings.Join(names, ", ")
	} else {
		l.What += ": " + strings.Join(names[:maxNames], ", ") + ", " + thousands(len(names)-maxNames) + " more"
	}
	l.Brief = l.phrase.like
	l.Owners = topOwners(l.Findings)
}

// commonPrefix returns what all names begin with up to a dash, or "" if that is nothing.
func commonPrefix(names []string) string {
	prefix := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix[:strings.LastIndexByte(prefix, '-')+1]
}

// noOwner is shown where no owner is known.
const noOwner = "no owner"

// isNamespaceOwner reports whether an owner of a finding is a namespace without an owner.
func isNamespaceOwner(r *audit.Record, owner string) bool {
	name, ok := strings.CutPrefix(owner, "namespace ")
	return ok && slices.Contains(namespacesOf(r), name)
}

// isOwnerless reports whether no owner of a finding is known.
func isOwnerless(r *audit.Record) bool {
	return !slices.ContainsFunc(r.Owners, func(o string) bool { return !isNamespaceOwner(r, o) })
}

// ownersOfLine returns the owners of one subject.
func ownersOfLine(r *audit.Record) string {
	if len(r.Owners) == 0 || isOwnerless(r) && r.Subject.Kind == rules.SubjectNamespace {
		return noOwner
	}
	out := strings.Join(r.Owners, ", ")
	if r.MoreOwners > 0 {
		out += fmt.Sprintf(" and %s more", thousands(r.MoreOwners))
	}
	return out
}

// OwnerCount is an owner with the findings that they own, alone or with others.
type OwnerCount struct {
	Owner    string // noOwner for all namespaces without one
	Findings int
	Worst    rules.Severity
}

// countOwners returns the owners of findings, those with the most first, then by name.
func countOwners(records []audit.Record) []OwnerCount {
	at := map[string]*OwnerCount{}
	for i := range records {
		r := &records[i]
		var names []string
		for _, o := range r.Owners {
			if isNamespaceOwner(r, o) {
				o = noOwner
			}
			names = append(names, o)
		}
		if len(names) == 0 {
			names = []string{noOwner}
		}
		slices.Sort(names)
		for _, o := range slices.Compact(names) {
			if at[o] == nil {
				at[o] = &OwnerCount{Owner: o}
			}
			at[o].Findings++
			at[o].Worst = max(at[o].Worst, r.Severity)
		}
	}
	out := make([]OwnerCount, 0, len(at))
	for _, c := range at {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b OwnerCount) int {
		return cmp.Or(-cmp.Compare(a.Findings, b.Findings), strings.Compare(a.Owner, b.Owner))
	})
	return out
}

// topOwners names the owners of a line with several subjects, with the number of their
// findings if they are not all of the same owners.
func topOwners(records []audit.Record) string {
	first := ownersOfLine(&records[0])
	if !slices.ContainsFunc(records, func(r audit.Record) bool { return ownersOfLine(&r) != first }) {
		return first
	}
	const named = 3
	list := countOwners(records)
	if len(list) == 1 {
		return list[0].Owner
	}
	var parts []string
	for _, c := range list[:min(named, len(list))] {
		parts = append(parts, fmt.Sprintf("%s %s", c.Owner, thousands(c.Findings)))
	}
	if len(list) > named {
		parts = append(parts, "…")
	}
	// The number comes first: the names are cut where there is no room for them.
	return fmt.Sprintf("%s owners (%s)", thousands(len(list)), strings.Join(parts, ", "))
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// Selection is which findings are shown, and in what arrangement. The zero value shows
// all of them, the most severe first.
type Selection struct {
	Severity rules.Severity // the least; zero for all
	Owners   []string       // any of them; none for all
	States   []string       // any of States, in any case; none for all
	GroupBy  string         // one of Groupings, or ""
	Sort     string         // one of Sortings, or "" for the first
	All      bool           // a line for each subject, however many are alike
}

// States returns the words for the state of a finding. Resolved includes the last two,
// which are findings that the config no longer asks for.
func States() []string { return []string{"pending", "open", "resolved", "excepted", "retired"} }

// Groupings returns what findings can be grouped by.
func Groupings() []string { return []string{"owner", "rule", "namespace"} }

// Sortings returns what findings can be sorted by.
func Sortings() []string { return []string{"severity", "age", "owner", "rule", "subject"} }

// ParseSelection checks the words of a selection and returns it with the severity of
// that name; "" is none. The errors name the flag and all valid words.
func ParseSelection(s Selection, severity string) (Selection, error) {
	if severity != "" {
		if err := s.Severity.UnmarshalText([]byte(strings.ToLower(severity))); err != nil {
			return s, fmt.Errorf("--severity: invalid severity %q, must be one of: low, medium, high", severity)
		}
	}
	for i, state := range s.States {
		s.States[i] = strings.ToLower(state)
		if !slices.Contains(States(), s.States[i]) {
			return s, fmt.Errorf("--state: invalid state %q, must be one of: %s", state, strings.Join(States(), ", "))
		}
	}
	if s.GroupBy != "" && !slices.Contains(Groupings(), s.GroupBy) {
		return s, fmt.Errorf("--group-by: invalid value %q, must be one of: %s", s.GroupBy, strings.Join(Groupings(), ", "))
	}
	if s.Sort != "" && !slices.Contains(Sortings(), s.Sort) {
		return s, fmt.Errorf("--sort: invalid value %q, must be one of: %s", s.Sort, strings.Join(Sortings(), ", "))
	}
	return s, nil
}

// selects reports whether a finding is to be shown.
func (s *Selection) selects(r *audit.Record) bool {
	owned := slices.ContainsFunc(r.Owners, func(owner string) bool { return slices.Contains(s.Owners, owner) })
	state := slices.Contains(s.States, stateOf(r)) || slices.Contains(s.States, strings.ToLower(string(r.State)))
	return r.Severity >= s.Severity && (len(s.Owners) == 0 || owned) && (len(s.States) == 0 || state)
}

// narrows reports whether a selection leaves out findings.
func (s *Selection) narrows() bool { return s.Severity > rules.Low || len(s.Owners)+len(s.States) > 0 }

// String is the selection in the flags that make it.
func (s *Selection) String() string {
	var out []string
	if s.Severity > rules.Low {
		out = append(out, "--severity "+s.Severity.String())
	}
	for _, o := range s.Owners {
		out = append(out, "--owner "+o)
	}
	for _, w := range s.States {
		out = append(out, "--state "+w)
	}
	return strings.Join(out, " ")
}

// stateOf returns the word for the state of a finding.
func stateOf(r *audit.Record) string {
	switch r.Reason {
	case audit.ReasonExcepted:
		return "excepted"
	case audit.ReasonRuleRetired:
		return "retired"
	}
	return strings.ToLower(string(r.State))
}

// View is the findings of a report as people read them: selected, with like ones on one
// line, sorted and grouped. Its text is not escaped.
type View struct {
	Groups []Group
	// Shown and Total are the number of findings that the view has, and that there are.
	Shown, Total int
	Selection    Selection

	shown []audit.Record
	short int // how much of a hash identifies a finding
}

// Group is lines under one heading.
type Group struct {
	// Name is an owner, a rule or a namespace; "" if findings are not grouped.
	Name     string
	Lines    []Line
	Findings int
}

// Line is what is wrong with one subject, or alike with several.
type Line struct {
	Severity rules.Severity // the highest
	Subject  string         // a name, or a number of them
	What     string
	Brief    string // What where there is little room
	Owners   string
	Since    time.Time // the earliest; zero if unknown
	State    string    // "" if there are several
	// Short is what identifies the finding to audit explain; "" if there are several
	// subjects.
	Short string
	// Anchor identifies the line in a page, in this sweep and later ones.
	Anchor   string
	Findings []audit.Record // by subject

	phrase phrase
}

// Subjects is the number of subjects of a line.
func (l *Line) Subjects() int {
	n := 0
	for i := range l.Findings {
		if i == 0 || !sameSubject(&l.Findings[i-1], &l.Findings[i]) {
			n++
		}
	}
	return n
}

// NewView arranges findings. Like ones with the same owners make one line if there are
// more than a few. If there are more lines than most, which zero turns off, like ones of
// several owners do, too, but not the only line of an owner.
func NewView(records []audit.Record, now time.Time, s Selection, most int) *View {
	v := &View{Total: len(records), Selection: s, short: shortest(records)}
	for i := range records {
		if s.selects(&records[i]) {
			v.shown = append(v.shown, records[i])
		}
	}
	v.Shown = len(v.shown)
	lines := subjects(v.shown, now)
	for _, name := range v.groupNames() {
		g := Group{Name: name}
		for _, l := range lines {
			if s.GroupBy == "" || slices.Contains(groupsOf(&l.Findings[0], s.GroupBy), name) {
				g.Lines = append(g.Lines, l)
				g.Findings += len(l.Findings)
			}
		}
		room := most
		if s.GroupBy != "" {
			room = 0
		}
		g.Lines = fold(g.Lines, s.All, room)
		for i := range g.Lines {
			g.Lines[i].complete(v, name)
		}
		g.sort(s.Sort)
		v.Groups = append(v.Groups, g)
	}
	slices.SortStableFunc(v.Groups, func(a, b Group) int {
		return cmp.Or(-cmp.Compare(a.worst(), b.worst()), -cmp.Compare(a.Findings, b.Findings))
	})
	return v
}

// groupNames returns the names of the groups, sorted.
func (v *View) groupNames() []string {
	var names []string
	for i := range v.shown {
		names = append(names, groupsOf(&v.shown[i], v.Selection.GroupBy)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// groupsOf returns the groups that a finding belongs to.
func groupsOf(r *audit.Record, by string) []string {
	switch by {
	case "owner":
		if len(r.Owners) > 0 {
			return r.Owners
		}
		return []string{noOwner}
	case "rule":
		return []string{r.Rule}
	case "namespace":
		if list := namespacesOf(r); len(list) > 0 {
			return list
		}
		return []string{"cluster-scoped"}
	}
	return []string{""}
}

// namespacesOf returns the namespaces that a finding involves, sorted.
func namespacesOf(r *audit.Record) []string {
	list := []string{r.Subject.Namespace}
	if r.Subject.Kind == rules.SubjectNamespace {
		list = append(list, r.Subject.Name)
	}
	for _, o := range r.Objects {
		list = append(list, o.Namespace)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(name string) bool { return name == "" })
}

func (g *Group) worst() rules.Severity {
	var worst rules.Severity
	for _, l := range g.Lines {
		worst = max(worst, l.Severity)
	}
	return worst
}

// sort sorts lines by one of Sortings. Resolved findings come last. Among equals, the most
// severe comes first, then it is by rule and subject.
func (g *Group) sort(by string) {
	slices.SortStableFunc(g.Lines, func(a, b Line) int {
		first := cmp.Compare(truth(a.Findings[0].State == audit.StateResolved), truth(b.Findings[0].State == audit.StateResolved))
		if first != 0 {
			return first
		}
		switch by {
		case "age":
			first = cmp.Or(cmp.Compare(truth(a.Since.IsZero()), truth(b.Since.IsZero())), a.Since.Compare(b.Since))
		case "owner":
			first = strings.Compare(a.Owners, b.Owners)
		case "rule":
			first = strings.Compare(a.Findings[0].Rule, b.Findings[0].Rule)
		case "subject":
			first = a.Findings[0].Subject.Compare(b.Findings[0].Subject)
		}
		return cmp.Or(first, -cmp.Compare(a.Severity, b.Severity), strings.Compare(a.Findings[0].Rule, b.Findings[0].Rule),
			a.Findings[0].Subject.Compare(b.Findings[0].Subject))
	})
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// subjects returns a line for each subject: the two directions of a namespace are one.
func subjects(records []audit.Record, now time.Time) []Line {
	type key struct {
		rule, kind, namespace, name, detail, owners, state string
	}
	var lines []Line
	at := map[key]int{}
	for _, r := range records {
		k := key{r.Rule, r.Subject.Kind, r.Subject.Namespace, r.Subject.Name, r.Subject.Detail, strings.Join(r.Owners, "\x00"), stateOf(&r)}
		if isDirection(&r) {
			k.detail = ""
		}
		if i, ok := at[k]; ok {
			lines[i].add(r, now)
			continue
		}
		at[k] = len(lines)
		l := Line{}
		l.add(r, now)
		lines = append(lines, l)
	}
	for i := range lines {
		slices.SortFunc(lines[i].Findings, compareRecords)
		lines[i].phrase = phraseOf(lines[i].Findings)
	}
	return lines
}

func compareRecords(a, b audit.Record) int { return a.Subject.Compare(b.Subject) }

// isDirection reports whether a finding is about one direction of a namespace.
func isDirection(r *audit.Record) bool {
	return r.Subject.Kind == rules.SubjectNamespace && (r.Subject.Detail == "Ingress" || r.Subject.Detail == "Egress")
}

// sameSubject reports whether two findings are about one thing.
func sameSubject(a, b *audit.Record) bool {
	if a.Rule != b.Rule || isDirection(a) != isDirection(b) {
		return false
	}
	x, y := a.Subject, b.Subject
	if isDirection(a) {
		x.Detail, y.Detail = "", ""
	}
	return x == y
}

func (l *Line) add(r audit.Record, now time.Time) {
	l.Findings = append(l.Findings, r)
	l.Severity = max(l.Severity, r.Severity)
	if s := since(&r, now); l.Since.IsZero() || !s.IsZero() && s.Before(l.Since) {
		l.Since = s
	}
}

// complete sets the text of a line in the group of that name.
func (l *Line) complete(v *View, group string) {
	first := &l.Findings[0]
	l.Anchor = first.ID
	if group != "" {
		l.Anchor = v.Selection.GroupBy + "-" + group + "-" + first.ID
	}
	l.State = stateOf(first)
	for i := range l.Findings {
		if stateOf(&l.Findings[i]) != l.State {
			l.State = ""
		}
	}
	if l.Subjects() == 1 {
		l.What, l.Brief = l.phrase.what, cmp.Or(l.phrase.brief, l.phrase.what)
		l.Owners = ownersOfLine(first)
		l.Short = shortID(first.ID, v.short)
		name := first.Subject
		if isDirection(first) {
			name.Detail = ""
		}
		l.Subject = name.String()
		return
	}
	l.foldText()
}

// shortID returns the part of an ID that audit explain needs: the beginning of its hash.
func shortID(id string, n int) string {
	hash := id[strings.LastIndexByte(id, '-')+1:]
	return hash[:min(n, len(hash))]
}

// shortest returns how much of the hash identifies each of the findings.
func shortest(records []audit.Record) int {
	const least, most = 7, 16
	for n := least; n < most; n++ {
		seen := make(map[string]string, len(records))
		unique := true
		for i := range records {
			id := records[i].ID
			if other, ok := seen[shortID(id, n)]; ok && other != id {
				unique = false
				break
			}
			seen[shortID(id, n)] = id
		}
		if unique {
			return n
		}
	}
	return most
}

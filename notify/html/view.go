package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/notify/visible"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// view is what the page shows. Its texts are visible: what would be hidden or reordered is
// escaped. The page escapes what HTML would interpret.
type view struct {
	Cluster            string
	Started            string
	StartedAt          string // for programs
	Complete           bool
	Scope              string // what the report is limited to, empty for everything
	Open, Pending      int
	Unknown, Clean     int
	Owners             []choice
	Severities, Rules  []choice
	Unread             []unread
	MoreUnread         int
	Findings           []row
	Namespaces         []namespaceRow
	Kinds              []kindRow
	Outcomes           []outcomeRow
	Advisories         []advisoryRow
	MoreAdvisories     int
	Hint               string
	NamespacesWithRows bool // default-deny-present ran
}

// choice is a value that findings can be filtered by, with the number of rows that have it.
type choice struct {
	Value string
	Count int
	// Counts are the numbers of findings of an owner, by severity.
	High, Medium, Low int
}

// unread is something that is unknown.
type unread struct{ Stage, Where, Reason string }

// row is one line of the list: a finding, or those of both directions of a namespace.
type row struct {
	IDs            []string // the first one is the ID of the row
	Severity, Rule string
	Subject        string
	What, State    string
	Owners         []string
	Since, SinceAt string
	Parts          []part
	Text           string // what the text filter searches, in lower case
	OwnersKey      string // the owners, each between line breaks
	Namespaces     []string
	MoreOwners     int
	Remedy         string
}

// part is what one finding of a row says.
type part struct {
	ID, Detail, Message, Cause, Do string
	Objects                        []object
	MoreObjects                    int
}

type object struct{ Ref, Owner, Created, Detail string }

type namespaceRow struct {
	Name, Owner, DecidedBy string
	Isolation              *isolationRow
	Findings               int
}

type isolationRow struct{ Workloads, Ingress, Egress, Open, Note string }

type kindRow struct {
	Name, Status, Items, Reason string
	Known                       bool
}

type outcomeRow struct {
	Name, Status, Reason string
	Ran                  bool
	Findings             int
}

type advisoryRow struct{ Rule, Subject, Message, Owners string }

// What a page lists at most. A list that is longer ends with a count.
const (
	mostUnread     = 500
	mostAdvisories = 1000
	mostObjects    = 40
)

func newView(res *audit.Result) *view {
	v := &view{
		Cluster: visible.Text(res.Cluster), Started: res.Started.UTC().Format("2006-01-02 15:04 UTC"), StartedAt: res.Started.UTC().Format(time.RFC3339),
		Complete: res.Complete(), Scope: joinShown(texts(res.Only)),
	}
	v.unread(res)
	v.findings(res)
	v.checked(res)
	v.advisories(res)
	if h := res.OwnerKey; h != nil {
		v.Hint = fmt.Sprintf("%d of %d namespaces carry the %s %s. Add it to owners.keys in the config to name the owner of %d more.",
			h.Carry, h.Of, h.Sort(), visible.Text(h.Key), h.Names)
	}
	return v
}

// unread lists what is unknown: what could not be read or evaluated.
func (v *view) unread(res *audit.Result) {
	mustEvaluate := *res
	mustEvaluate.MustEvaluate = true
	for _, f := range mustEvaluate.Failures() {
		if f.Stage != audit.StageRead && f.Stage != audit.StageEvaluate {
			continue
		}
		if v.Unknown++; len(v.Unread) < mostUnread {
			v.Unread = append(v.Unread, unread{string(f.Stage), visible.Text(f.Where), visible.Text(f.Reason)})
		}
	}
	v.MoreUnread = v.Unknown - len(v.Unread)
}

// findings makes the rows: one for each subject, the most severe first.
func (v *view) findings(res *audit.Result) {
	severities, byRule, owners := map[string]int{}, map[string]int{}, map[string]*choice{}
	for _, f := range res.Findings {
		if f.State == audit.StatePending {
			v.Pending++
		} else {
			v.Open++
		}
	}
	for _, g := range report.NewView(report.Records(res.Findings), res.Started, report.Selection{All: true}, 0).Groups {
		for _, l := range g.Lines {
			v.Findings = append(v.Findings, newRow(&l))
			severities[l.Severity.String()]++
			byRule[l.Findings[0].Rule]++
			for _, o := range l.Findings[0].Owners {
				if owners[o] == nil {
					owners[o] = &choice{Value: visible.Text(o)}
				}
				owners[o].add(l.Severity)
			}
		}
	}
	for _, s := range []rules.Severity{rules.High, rules.Medium, rules.Low} {
		if n := severities[s.String()]; n > 0 {
			v.Severities = append(v.Severities, choice{Value: s.String(), Count: n})
		}
	}
	for name, n := range byRule {
		v.Rules = append(v.Rules, choice{Value: visible.Text(name), Count: n})
	}
	slices.SortFunc(v.Rules, func(a, b choice) int { return strings.Compare(a.Value, b.Value) })
	for _, o := range owners {
		v.Owners = append(v.Owners, *o)
	}
	slices.SortFunc(v.Owners, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.High, a.High), cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
}

func (c *choice) add(s rules.Severity) {
	c.Count++
	switch s {
	case rules.High:
		c.High++
	case rules.Medium:
		c.Medium++
	default:
		c.Low++
	}
}

// newRow returns the row of a line of the report.
func newRow(l *report.Line) row {
	first := &l.Findings[0]
	r := row{
		Severity: l.Severity.String(), Rule: visible.Text(first.Rule), Subject: visible.Text(first.Subject.Kind + " " + l.Subject),
		What: visible.Text(l.What), Owners: texts(first.Owners), MoreOwners: first.MoreOwners,
	}
	if first.State != audit.StateOpen {
		r.State = visible.Text(strings.ToLower(string(first.State)))
	}
	if !l.Since.IsZero() {
		r.Since, r.SinceAt = l.Since.UTC().Format(time.DateOnly), l.Since.UTC().Format(time.RFC3339)
	}
	for i := range l.Findings {
		r.add(&l.Findings[i].Finding)
	}
	var text strings.Builder
	text.WriteString(r.Subject + "\n" + r.What + "\n" + r.Rule + "\n")
	for _, p := range r.Parts {
		text.WriteString(p.ID + "\n" + p.Message + "\n")
		for _, o := range p.Objects {
			text.WriteString(o.Ref + "\n")
		}
	}
	r.Text = strings.ToLower(text.String())
	r.OwnersKey = "\n" + strings.Join(r.Owners, "\n") + "\n"
	return r
}

// add adds a finding to the row.
func (r *row) add(f *audit.Finding) {
	r.IDs = append(r.IDs, f.ID)
	p := part{
		ID: f.ID, Detail: visible.Text(f.Subject.Detail), Message: visible.Text(f.Message), Cause: visible.Text(f.Cause),
		Do: visible.Text(f.Remedy), MoreObjects: f.MoreObjects,
	}
	listed := f.Objects[:min(len(f.Objects), mostObjects)]
	p.MoreObjects += len(f.Objects) - len(listed)
	for _, o := range listed {
		shown := object{Ref: visible.Text(o.Ref.String()), Owner: cmp.Or(visible.Text(o.Owner), "no owner"), Created: "unknown", Detail: visible.Text(cmp.Or(o.Detail, o.Reason))}
		if !o.Created.IsZero() {
			shown.Created = rules.Timestamp(o.Created)
		}
		p.Objects = append(p.Objects, shown)
		if !slices.Contains(r.Namespaces, o.Namespace) && o.Namespace != "" {
			r.Namespaces = append(r.Namespaces, o.Namespace)
		}
	}
	if ns := f.Subject.Name; f.Subject.Kind == rules.SubjectNamespace && !slices.Contains(r.Namespaces, ns) {
		r.Namespaces = append(r.Namespaces, ns)
	}
	r.Parts = append(r.Parts, p)
	if r.Remedy == "" {
		r.Remedy = visible.Lines(f.Fix)
	}
}

// checked lists what was read and evaluated.
func (v *view) checked(res *audit.Result) {
	found, byRule := map[string]int{}, map[string]int{}
	for _, r := range v.Findings {
		for _, ns := range r.Namespaces {
			found[ns]++
		}
		byRule[r.Rule]++
	}
	isolation := map[string]*rules.Isolation{}
	for i := range res.Isolation {
		isolation[res.Isolation[i].Namespace] = &res.Isolation[i]
	}
	v.NamespacesWithRows = len(isolation) > 0
	for _, o := range res.Ownership {
		if len(res.Only) > 0 && !slices.Contains(res.Only, o.Namespace) {
			continue
		}
		n := namespaceRow{Name: visible.Text(o.Namespace), Owner: visible.Text(o.Owner), DecidedBy: visible.Text(o.By), Findings: found[o.Namespace]}
		known := res.Complete()
		if row := isolation[o.Namespace]; row != nil {
			n.Isolation = newIsolationRow(row)
			known = known && len(row.KindsNotEvaluated()) == 0
		}
		if known && n.Findings == 0 {
			v.Clean++
		}
		v.Namespaces = append(v.Namespaces, n)
	}
	for _, r := range res.Reads {
		v.Kinds = append(v.Kinds, newKindRow(r))
	}
	for _, o := range res.Rules {
		v.Outcomes = append(v.Outcomes, outcomeRow{
			Name: visible.Text(o.Rule), Status: string(o.Status), Reason: visible.Text(o.Reason), Ran: o.Status == audit.RuleRan,
			Findings: byRule[o.Rule],
		})
	}
}

func newIsolationRow(r *rules.Isolation) *isolationRow {
	out := &isolationRow{
		Workloads: fmt.Sprint(r.Workloads), Ingress: string(r.Ingress), Egress: string(r.Egress), Open: r.Open,
	}
	switch kinds := r.KindsNotEvaluated(); {
	case r.Exempt:
		out.Note = "exempt"
	case len(kinds) > 0:
		out.Note = "not evaluated: " + visible.Text(strings.Join(kinds, ", "))
	case len(r.Exposed) > 0:
		out.Note = rules.Count(len(r.Exposed), "workload") + " exposed"
	}
	return out
}

func newKindRow(r snapshot.Read) kindRow {
	return kindRow{
		Name: visible.Text(string(r.Kind)), Status: string(r.Status), Items: fmt.Sprint(r.Items),
		Reason: visible.Text(r.Err), Known: r.Status.Known(),
	}
}

func (v *view) advisories(res *audit.Result) {
	for _, a := range res.Advisories {
		if len(v.Advisories) == mostAdvisories {
			v.MoreAdvisories = len(res.Advisories) - mostAdvisories
			return
		}
		v.Advisories = append(v.Advisories, advisoryRow{
			visible.Text(a.Rule), visible.Text(a.Subject.Kind + " " + a.Subject.String()), visible.Text(a.Message), joinShown(texts(a.Owners)),
		})
	}
}

func texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = visible.Text(s)
	}
	return out
}

// joinShown joins texts that are visible already.
func joinShown(list []string) string { return strings.Join(list, ", ") }

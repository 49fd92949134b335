package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// fromResult returns the document of a result. They share no list.
func fromResult(res *audit.Result) *Report {
	return &Report{
		APIVersion: APIVersion,
		Kind:       Kind,
		Cluster:    res.Cluster,
		StartedAt:  instant(res.Started).Truncate(time.Millisecond),
		FinishedAt: instant(res.Finished).Truncate(time.Millisecond),
		Complete:   res.Complete(),
		Failures: each(res.Failures(), func(f audit.Failure) Failure {
			return Failure{Stage: string(f.Stage), Where: f.Where, Reason: f.Reason}
		}),
		Namespaces: slices.Clone(res.Only),
		Kinds:      each(res.Reads, fromRead),
		Ignored: each(res.Ignored, func(p audit.IgnoredKind) IgnoredKind {
			return IgnoredKind{Group: p.Group, Version: p.Version, Kind: p.Kind, RunsPods: p.RunsPods, Items: p.Items}
		}),
		Problems: each(res.Problems, fromProblem),
		Faults: each(res.Faults, func(f audit.ObjectFault) Fault {
			return Fault{Group: f.Group, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name, Owner: f.Owner, Reason: f.Reason}
		}),
		Rules: each(res.Rules, func(o audit.Outcome) RuleOutcome {
			return RuleOutcome{Name: o.Rule, Status: string(o.Status), Reason: o.Reason}
		}),
		Findings:   each(res.Findings, fromFinding),
		Advisories: each(res.Advisories, fromAdvisory),
		Isolation:  each(res.Isolation, fromIsolation),
		Deliveries: eachOrNone(res.Deliveries, func(d audit.Delivery) Delivery {
			return Delivery{Sender: d.Sender, Owner: d.Owner, Result: string(d.Result), Reason: d.Reason}
		}),
		Messages:   eachOrNone(res.Messages, func(m audit.Message) Message { return Message(m) }),
		ReportOnly: (*ReportOnly)(res.ReportOnly),
		OwnerKey:   fromOwnerKey(res.OwnerKey),
	}
}

// fromSelected returns the document of a result with the findings of a selection.
func fromSelected(res *audit.Result, s Selection) *Report {
	r := fromResult(res)
	if !s.narrows() {
		return r
	}
	r.Findings = each(selected(records(res.Findings), s), func(r audit.Record) Finding { return fromFinding(r.Finding) })
	r.Selection = &SelectedFindings{Owners: slices.Clone(s.Owners), States: slices.Clone(s.States), Total: len(res.Findings)}
	if s.Severity > 0 {
		r.Selection.Severity = s.Severity.String()
	}
	return r
}

func fromOwnerKey(h *audit.OwnerKeyHint) *OwnerKey {
	if h == nil {
		return nil
	}
	return &OwnerKey{Key: h.Key, Sort: h.Sort(), Carry: h.Carry, Namespaces: h.Of, Names: h.Names}
}

func fromProblem(p audit.Problem) Problem {
	return Problem{Where: p.Where, Reason: p.Reason, Kind: p.Kind}
}

func fromRead(r snapshot.Read) KindRead {
	return KindRead{
		Group: r.Kind.Group(), Version: r.Version, Resource: r.Kind.Resource(),
		Items: r.Items, Status: string(r.Status), Error: r.Err,
	}
}

func fromFinding(f audit.Finding) Finding {
	return Finding{
		ID: f.ID, Rule: f.Rule, Severity: f.Severity.String(), Subject: Subject(f.Subject),
		Verdict: f.Verdict, Culprit: f.Culprit, Owners: each(f.Owners, same), Message: f.Message, Cause: f.Cause, Remedy: f.Remedy, Fix: f.Fix,
		State: string(f.State), FirstSeen: instant(f.FirstSeen), Objects: each(f.Objects, fromObject),
		MoreOwners: f.MoreOwners, MoreObjects: f.MoreObjects,
	}
}

func fromAdvisory(a audit.Advisory) Advisory {
	return Advisory{
		Rule: a.Rule, Subject: Subject(a.Subject), Owners: each(a.Owners, same), Message: a.Message,
		Objects: each(a.Objects, fromObject),
	}
}

func fromObject(o rules.Object) Object {
	return Object{
		Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Owner: o.Owner,
		CreatedAt: instant(o.Created), Reason: o.Reason, Detail: o.Detail,
	}
}

func fromIsolation(i rules.Isolation) IsolationRead {
	return IsolationRead{
		Namespace: i.Namespace, Workloads: i.Workloads, Ingress: string(i.Ingress), Egress: string(i.Egress),
		Open: cmp.Or(i.Open, "none"), Scope: i.Scope, Exempt: i.Exempt,
		Exposed: each(i.Exposed, func(e rules.Exposed) Exposed { return Exposed(e) }),

		NotEvaluated: i.KindsNotEvaluated(),
	}
}

// directionsOf is the inverse of Isolation.KindsNotEvaluated.
func directionsOf(list []string) [2][]string {
	var out [2][]string
	for _, text := range list {
		for _, d := range snapshot.Directions() {
			if kind, ok := strings.CutSuffix(text, rules.InDirection(d)); ok || !strings.HasSuffix(text, rules.InDirection(1-d)) {
				out[d] = append(out[d], kind)
			}
		}
	}
	return out
}

func same(s string) string { return s }

// each converts every element of a list. It never returns nil, which JSON encodes as
// null.
func each[A, B any](list []A, convert func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, convert(a))
	}
	return out
}

// eachOrNone is each for a list that is omitted if empty.
func eachOrNone[A, B any](list []A, convert func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	return each(list, convert)
}

// instant returns the time in UTC. A time that RFC 3339 cannot express counts as
// unknown: a manifest may contain one, and encoding it would fail.
func instant(t time.Time) time.Time {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// maxReport is the size limit of a report that is read, in bytes.
const maxReport = 256 << 20

// Read reads a report in JSON or YAML.
func Read(in io.Reader) (*Report, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxReport+1))
	if err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	if len(data) > maxReport {
		return nil, fmt.Errorf("read report: larger than %d MiB", maxReport>>20)
	}
	var r Report
	if err := yaml.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	if r.APIVersion != APIVersion || r.Kind != Kind {
		return nil, fmt.Errorf("read report: not a %s of %s", Kind, APIVersion)
	}
	return &r, nil
}

// FindingsOf returns the findings of a report.
func FindingsOf(r *Report) []audit.Finding {
	return each(r.Findings, func(f Finding) audit.Finding {
		out := audit.Finding{
			ID: f.ID, Rule: f.Rule, Subject: rules.Subject(f.Subject), Verdict: f.Verdict, Culprit: f.Culprit, Owners: f.Owners, Message: f.Message,
			Cause: f.Cause, Remedy: f.Remedy, Fix: f.Fix, State: audit.State(f.State), FirstSeen: f.FirstSeen,
			MoreObjects: f.MoreObjects, MoreOwners: f.MoreOwners,
		}
		_ = out.Severity.UnmarshalText([]byte(f.Severity)) // zero if unknown
		for _, o := range f.Objects {
			out.Objects = append(out.Objects, rules.Object{
				Ref:   snapshot.Ref{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
				Owner: o.Owner, Created: o.CreatedAt, Reason: o.Reason, Detail: o.Detail,
			})
		}
		return out
	})
}

// Previous returns what a later sweep needs to know of the report.
func (r *Report) Previous() *audit.Previous {
	p := &audit.Previous{
		At:        r.StartedAt,
		FirstSeen: make(map[string]time.Time, len(r.Findings)),
		Isolation: make(map[string]rules.Isolation, len(r.Isolation)),
	}
	for _, f := range r.Findings {
		p.FirstSeen[f.ID] = f.FirstSeen
	}
	for _, row := range r.Isolation {
		p.Isolation[row.Namespace] = rules.Isolation{
			Namespace: row.Namespace, Ingress: rules.IsolationState(row.Ingress), Egress: rules.IsolationState(row.Egress),
			NotEvaluated: directionsOf(row.NotEvaluated),
		}
	}
	return p
}

// FromRecord returns the document of a stored finding. They share no list.
func FromRecord(r audit.Record) StoredFinding {
	return StoredFinding{
		Finding: fromFinding(r.Finding), Reason: string(r.Reason), OpenedAt: instant(r.OpenedAt),
		ResolvedAt: instant(r.ResolvedAt), Reopened: r.Reopened, Storm: r.Storm,
		Notifications: eachOrNone(r.Notifications, fromNotification),
	}
}

func fromNotification(t audit.Notification) Notification {
	return Notification{
		Sender: t.Sender, Owner: t.Owner, Pending: string(t.Pending), Last: string(t.Last), At: instant(t.At),
		Channel: t.Message.Channel, Message: t.Message.Message, Error: t.Error,
	}
}

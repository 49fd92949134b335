package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// From returns the result as programs read it. It shares no list with the
// result.
func From(res *audit.Result) *Report {
	return &Report{
		APIVersion: APIVersion,
		Kind:       Kind,
		Cluster:    res.Cluster,
		StartedAt:  instant(res.Started).Truncate(time.Millisecond),
		FinishedAt: instant(res.Finished).Truncate(time.Millisecond),
		Complete:   res.Complete(),
		Only:       slices.Clone(res.Only),
		Kinds:      each(res.Reads, fromRead),
		Ignored: each(res.Ignored, func(p audit.IgnoredKind) IgnoredKind {
			return IgnoredKind{Group: p.Group, Version: p.Version, Kind: p.Kind, Items: p.Items}
		}),
		Problems: each(res.Problems, func(p audit.Problem) Problem { return Problem(p) }),
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
	}
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
		Verdict: f.Verdict, Owners: each(f.Owners, same), Message: f.Message, Cause: f.Cause, Remedy: f.Remedy,
		State: string(f.State), FirstSeen: instant(f.FirstSeen), Objects: each(f.Objects, fromObject),
		MoreObjects: f.MoreObjects,
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

		NotEvaluated: slices.Clone(i.NotEvaluated),
	}
}

func same(s string) string { return s }

// each turns every element of a list into another. The list that it returns is
// never nil, which would be written as null.
func each[A, B any](list []A, turn func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, turn(a))
	}
	return out
}

// eachOrNone is each for a list that is left out where it is empty.
func eachOrNone[A, B any](list []A, turn func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	return each(list, turn)
}

// instant returns the time in UTC. A time that RFC 3339 cannot write is as good
// as unknown: a manifest may carry any, and one such must not cost the report.
func instant(t time.Time) time.Time {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

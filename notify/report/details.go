package report

import (
	"slices"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// details writes what only wide shows: how each namespace is isolated, how each
// kind was read, and which rules judged.
func (p *page) details(res *audit.Result) {
	if !p.wide {
		return
	}
	p.isolation(res.Isolation)
	p.kinds(res.Reads)
	p.passed(res.Ignored)
	p.rules(res.Rules)
}

func (p *page) isolation(list []rules.Isolation) {
	if len(list) == 0 {
		return
	}
	p.line(span{"ISOLATION", bold}, span{text: "  " + count(len(list), "namespace")})
	p.blank()
	exposed := make([]shown, len(list))
	for i, row := range list {
		for j, e := range row.Exposed {
			if j > 0 {
				exposed[i] += ", "
			}
			exposed[i] += show(e.Kind) + "/" + show(e.Name) + " " + show(e.Direction) + " " + show(e.Reason)
		}
		if exposed[i] != "" {
			exposed[i] = "exposed: " + exposed[i]
		}
	}
	workloads := cells("WORKLOADS", list, func(i rules.Isolation) shown { return number(i.Workloads) })
	workloads.right = true
	p.grid(2, []column{
		cells("NAMESPACE", list, func(i rules.Isolation) shown { return show(i.Namespace) }),
		workloads,
		cells("INGRESS", list, func(i rules.Isolation) shown { return show(string(i.Ingress)) }),
		cells("EGRESS", list, func(i rules.Isolation) shown { return show(string(i.Egress)) }),
		cells("OPEN", list, func(i rules.Isolation) shown { return show(i.Open) }),
		cells("SCOPE", list, func(i rules.Isolation) shown { return show(i.Scope) }),
		cells("EXEMPT", list, func(i rules.Isolation) shown {
			if i.Exempt {
				return "exempt"
			}
			return ""
		}),
	}, exposed)
	p.blank()
}

func (p *page) kinds(list []snapshot.Read) {
	if len(list) == 0 {
		return
	}
	asked := len(list)
	list = slices.DeleteFunc(slices.Clone(list), func(r snapshot.Read) bool { return r.Status == snapshot.Absent })
	note := "  " + number(asked) + " asked for"
	if absent := asked - len(list); absent > 0 {
		note += "; " + number(absent) + " of them the cluster does not have"
	}
	p.line(span{"KINDS", bold}, span{text: note})
	p.blank()
	p.grid(2, []column{
		cells("RESOURCE", list, func(r snapshot.Read) shown { return show(string(r.Kind)) }),
		cells("VERSION", list, func(r snapshot.Read) shown { return show(r.Version) }),
		cells("STATUS", list, func(r snapshot.Read) shown { return show(string(r.Status)) }),
		cells("OBJECTS", list, func(r snapshot.Read) shown {
			if !r.Status.Known() {
				return "unknown"
			}
			return number(r.Items)
		}),
	}, nil)
	p.blank()
}

func (p *page) passed(list []audit.IgnoredKind) {
	if len(list) == 0 {
		return
	}
	p.line(span{"PASSED OVER", bold}, span{text: "  " + count(len(list), "kind") + " that no rule needs"})
	p.blank()
	p.grid(2, []column{
		cells("KIND", list, func(k audit.IgnoredKind) shown { return show(k.Kind) }),
		cells("GROUP", list, func(k audit.IgnoredKind) shown { return show(k.Group) }),
		cells("VERSION", list, func(k audit.IgnoredKind) shown { return show(k.Version) }),
		cells("OBJECTS", list, func(k audit.IgnoredKind) shown { return number(k.Items) }),
	}, nil)
	p.blank()
}

func (p *page) rules(list []audit.Outcome) {
	if len(list) == 0 {
		return
	}
	p.line(span{"RULES", bold}, span{text: "  " + number(len(list))})
	p.blank()
	p.grid(2, []column{
		cells("RULE", list, func(o audit.Outcome) shown { return show(o.Rule) }),
		cells("STATUS", list, func(o audit.Outcome) shown { return show(string(o.Status)) }),
	}, nil)
	p.blank()
}

// cells returns a column with a cell for each element of a list.
func cells[T any](head shown, list []T, cell func(T) shown) column {
	return column{head: head, cells: each(list, cell)}
}

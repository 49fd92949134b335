package report

import (
	"slices"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// details writes what only wide output shows: the isolation of each namespace, how each
// kind was read, and which rules ran.
func (p *printer) details(res *audit.Result) {
	if !p.wide {
		return
	}
	p.isolation(res.Isolation)
	p.kinds(res.Reads)
	p.ignored(res.Ignored)
	p.rules(res.Rules)
}

func (p *printer) isolation(list []rules.Isolation) {
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

func (p *printer) kinds(list []snapshot.Read) {
	if len(list) == 0 {
		return
	}
	requested := len(list)
	list = slices.DeleteFunc(slices.Clone(list), func(r snapshot.Read) bool { return r.Status == snapshot.Absent })
	note := "  " + number(requested) + " requested"
	if absent := requested - len(list); absent > 0 {
		note += ", " + number(absent) + " absent"
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

func (p *printer) ignored(list []audit.IgnoredKind) {
	if len(list) == 0 {
		return
	}
	p.line(span{"IGNORED", bold}, span{text: "  " + count(len(list), "kind") + " that no rule needs"})
	p.blank()
	p.grid(2, []column{
		cells("KIND", list, func(k audit.IgnoredKind) shown { return show(k.Kind) }),
		cells("GROUP", list, func(k audit.IgnoredKind) shown { return show(k.Group) }),
		cells("VERSION", list, func(k audit.IgnoredKind) shown { return show(k.Version) }),
		cells("OBJECTS", list, func(k audit.IgnoredKind) shown { return number(k.Items) }),
	}, nil)
	p.blank()
}

func (p *printer) rules(list []audit.Outcome) {
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

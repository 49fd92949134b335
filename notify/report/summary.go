package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxOwners is the number of owners that the summary names.
const maxOwners = 8

// clean writes the line of a complete sweep without findings, with as many details as
// fit. A sweep that read no objects is not called clean, because it probably looked
// in the wrong place.
func (p *printer) clean(res *audit.Result) {
	switch {
	case len(res.Rules) == 0:
		p.text(0, span{text: "nothing evaluated: "}, "no rule ran; "+readText(res, true))
	case objectsRead(res) == 0:
		p.text(0, span{text: "empty: "}, "no objects to evaluate; "+readText(res, true)+"; "+ran(res))
	case res.NotEvaluated() > 0:
		p.text(0, span{text: "not evaluated: "}, count(res.NotEvaluated(), "namespace")+
			" with policies that could not be evaluated, see below; no other findings; "+readText(res, true)+"; "+ran(res))
	case onlyOtherWorkloads(res) != "":
		p.text(0, span{text: "not evaluated: "}, "all workloads are of kinds that are not evaluated ("+onlyOtherWorkloads(res)+
			"); no other findings; "+readText(res, true)+"; "+ran(res))
	case len(res.Only) > 0:
		p.longest(
			"clean in "+only(res)+": "+readText(res, true)+"; "+ran(res)+"; no findings",
			"clean in "+only(res)+": "+count(objectsRead(res), "object")+" read"+took(res)+"; no findings",
			"clean in "+only(res),
		)
	default:
		p.longest(
			"clean: "+readText(res, true)+"; "+ran(res)+"; no findings",
			"clean: "+readText(res, false)+"; "+ran(res)+"; no findings",
			"clean: "+readText(res, false)+"; "+ran(res),
			"clean: "+count(objectsRead(res), "object")+" read"+took(res)+"; "+ran(res)+"; no findings",
			"clean: "+count(objectsRead(res), "object")+"; no findings",
		)
	}
	if s := notified(res); s != "" {
		p.text(0, span{}, s)
	}
	if len(res.Advisories) > 0 || len(res.Failures()) > 0 || p.wide {
		p.blank()
	}
}

// onlyOtherWorkloads counts the objects that run workloads of kinds that no rule evaluates,
// by kind, if there are no others. It is empty if no rule evaluates workloads.
func onlyOtherWorkloads(res *audit.Result) shown {
	asked := false
	for _, r := range res.Reads {
		if !slices.Contains(snapshot.WorkloadKinds(), r.Kind) && r.Kind != snapshot.Pods {
			continue
		}
		if r.Items > 0 {
			return ""
		}
		asked = true
	}
	if !asked {
		return ""
	}
	var parts []string
	for _, k := range res.Ignored {
		if k.RunsPods {
			parts = append(parts, string(number(k.Items))+" "+k.Kind)
		}
	}
	return join(parts)
}

// only names the namespaces that the report is limited to.
func only(res *audit.Result) shown {
	names := show(strings.Join(res.Only, ", "))
	if len(res.Only) == 1 {
		return "namespace " + names
	}
	return "namespaces " + names
}

// longest writes the first line that fits, or else wraps the last.
func (p *printer) longest(lines ...shown) {
	for _, s := range lines {
		if p.wide || columns(s) <= p.width {
			p.line(span{text: s})
			return
		}
	}
	p.text(0, span{}, lines[len(lines)-1])
}

// complete writes what a complete sweep with findings has read.
func (p *printer) complete(res *audit.Result) {
	what := readText(res, false) + "; " + ran(res)
	if res.Cluster != "" {
		what = cut(show(res.Cluster), 60) + ": " + what
	}
	p.text(0, span{"COMPLETE  ", bold}, what)
	p.blank()
}

// summary writes the last paragraph: the findings, their owners and what was read.
func (p *printer) summary(res *audit.Result) {
	label, what := span{"SUMMARY  ", bold}, count(len(res.Findings), "finding")
	list := records(res.Findings)
	if len(res.Only) > 0 {
		what += " in " + only(res)
	}
	if s := severities(list); s != "" {
		what += " (" + s + ")"
	}
	if !res.Complete() {
		label = span{"INCOMPLETE  ", red}
		what += " in what could be evaluated"
		if n := rulesRan(res); n == 0 && len(res.Findings) == 0 {
			what = "nothing could be evaluated"
		}
	}
	if age := p.oldest(list); age != "" {
		what += ", the oldest for " + age
	}
	if n := res.NotEvaluated(); n > 0 {
		what += "; " + count(n, "namespace") + " not evaluated"
	}
	if s := onlyOtherWorkloads(res); s != "" {
		what += "; no workload evaluated, all are of other kinds (" + s + ")"
	}
	if !res.Complete() {
		what += "; " + readText(res, true)
		if s := unknown(res); s != "" {
			what += "; unknown: " + s
		}
		what += "; " + ran(res)
	}
	if s := notified(res); s != "" {
		what += "; " + s
	}
	p.text(0, label, what)
	p.totals(list, p.selection)
	if !p.wide && len(list) > 0 {
		p.text(0, span{"NEXT     ", bold}, p.program+" explain ID shows evidence, cause and remedy. --all shows a line for each finding, -o wide everything.")
	}
}

// severities counts the findings by severity, the highest first.
func severities(list []audit.Record) shown {
	var parts []string
	for s := rules.High; s >= rules.Low; s-- {
		n := 0
		for _, f := range list {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, string(number(n))+" "+s.String())
		}
	}
	return join(parts)
}

// ran says how many rules ran.
func ran(res *audit.Result) shown {
	n := rulesRan(res)
	if n == len(res.Rules) {
		return count(n, "rule") + " ran"
	}
	return number(n) + " of " + count(len(res.Rules), "rule") + " ran"
}

func rulesRan(res *audit.Result) int {
	n := 0
	for _, o := range res.Rules {
		if o.Status == audit.RuleRan {
			n++
		}
	}
	return n
}

// objectsRead returns the number of objects that were read.
func objectsRead(res *audit.Result) int {
	n := 0
	for _, r := range res.Reads {
		n += r.Items
	}
	return n
}

// group is the kinds that a summary counts together.
type group struct {
	noun           string
	items          int
	kinds, unknown int // unknown kinds could not be read
}

// usual reports whether every cluster has such objects, so that a count of zero is
// worth mentioning.
func (g group) usual() bool { return slices.Contains(usualNouns(), g.noun) }

func usualNouns() []string { return []string{"namespace", "ingress", "policy", "workload", "pod"} }

// readText says what was read, in what time and, if where is set, from which cluster.
func readText(res *audit.Result, where bool) shown {
	var parts []string
	for _, g := range groups(res.Reads) {
		if g.unknown < g.kinds && (g.items > 0 || g.usual()) {
			parts = append(parts, string(count(g.items, g.noun)))
		}
	}
	out := shown("nothing")
	if len(parts) > 0 {
		out = join(parts)
	}
	out += " read"
	if where && res.Cluster != "" {
		out += " from " + cut(show(res.Cluster), 60)
	}
	return out + took(res)
}

// unknown lists what could not be read.
func unknown(res *audit.Result) shown {
	var parts []string
	for _, g := range groups(res.Reads) {
		switch g.unknown {
		case 0:
		case g.kinds:
			parts = append(parts, rules.Plural(g.noun))
		default:
			parts = append(parts, "other "+rules.Plural(g.noun))
		}
	}
	if n := len(res.Problems); n > 0 {
		parts = append(parts, string(count(n, "unreadable input")))
	}
	if n := len(res.Faults); n > 0 {
		parts = append(parts, string(count(n, "object")))
	}
	return join(parts)
}

// took says how long the sweep took, "" if unknown.
func took(res *audit.Result) shown {
	if res.Started.IsZero() {
		return ""
	}
	d := duration(res.Finished.Sub(res.Started))
	if d == "" {
		return ""
	}
	return " in " + d
}

// groups groups the kinds, the most important first and the others by name.
func groups(reads []snapshot.Read) []group {
	var list []group
	for _, r := range reads {
		noun := groupOf(r.Kind)
		if noun == "" {
			continue
		}
		i := slices.IndexFunc(list, func(g group) bool { return g.noun == noun })
		if i < 0 {
			i, list = len(list), append(list, group{noun: noun})
		}
		list[i].kinds++
		list[i].items += r.Items
		if !r.Status.Known() {
			list[i].unknown++
		}
	}
	order := []string{"namespace", "ingress", "route", "policy", "workload", "pod", "template"}
	rank := func(g group) int {
		if i := slices.Index(order, g.noun); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.noun, b.noun))
	})
	return list
}

// groupOf returns the noun for a kind in a summary, or "" for a kind that is read only
// to interpret others.
func groupOf(k snapshot.Kind) string {
	switch {
	case slices.Contains(snapshot.WorkloadKinds(), k):
		return "workload"
	case strings.HasSuffix(k.Resource(), "networkpolicies"):
		return "policy"
	case slices.Contains(snapshot.PolicyKinds(), k), slices.Contains(snapshot.AdmissionKinds(), k):
		return ""
	case strings.HasSuffix(k.Resource(), "routes"):
		return "route"
	}
	switch k {
	case snapshot.Namespaces:
		return "namespace"
	case snapshot.Pods:
		return "pod"
	case snapshot.Ingresses:
		return "ingress"
	case snapshot.ConstraintTemplates:
		return "template"
	case snapshot.IngressClasses, snapshot.Gateways, snapshot.ListenerSets, snapshot.XListenerSets,
		snapshot.GatekeeperConfigs, snapshot.SyncSets:
		return ""
	}
	return "other host source"
}

// hint writes which key the config may miss, if there is one.
func (p *printer) hint(res *audit.Result) {
	if h := res.OwnerKey; h != nil {
		p.text(0, span{"HINT  ", bold}, number(h.Carry)+" of "+count(h.Of, "namespace")+" carry the "+show(h.Sort())+" "+show(h.Key)+
			". Add it to owners.keys in the config to name the owner of "+number(h.Names)+" more.")
	}
}

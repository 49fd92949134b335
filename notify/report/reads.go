package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// items returns how many objects were read in all.
func items(res *audit.Result) int {
	n := 0
	for _, r := range res.Reads {
		n += r.Items
	}
	return n
}

// group is a number of kinds that people count as one.
type group struct {
	noun           string
	items          int
	kinds, unknown int // of the latter it is not known how many objects there are
}

// usual reports whether the kinds are in every cluster, so that there being none
// is worth a word.
func (g group) usual() bool { return slices.Contains(usualNouns(), g.noun) }

func usualNouns() []string { return []string{"namespace", "ingress", "policy", "workload", "pod"} }

// read says what was read and in what time, and if asked for from which
// cluster.
func read(res *audit.Result, where bool) shown {
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

// unknown says of what it is not known how much there is.
func unknown(res *audit.Result) shown {
	var parts []string
	for _, g := range groups(res.Reads) {
		switch g.unknown {
		case 0:
		case g.kinds:
			parts = append(parts, plural(g.noun))
		default:
			parts = append(parts, "other "+plural(g.noun))
		}
	}
	if n := len(res.Problems); n > 0 {
		parts = append(parts, string("what stands in "+count(n, "unreadable place")))
	}
	return join(parts)
}

// took says how long the sweep took, "" where that is not known.
func took(res *audit.Result) shown {
	if res.Started.IsZero() {
		return ""
	}
	d := lasted(res.Finished.Sub(res.Started))
	if d == "" {
		return ""
	}
	return " in " + d
}

// groups sums up the kinds as people think of a cluster, others behind them by
// name.
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

// groupOf returns what people call a kind in a summary, in the singular, and ""
// for a kind that only helps to understand others.
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

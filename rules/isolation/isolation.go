// Package isolation is the rule default-deny-present: each namespace with
// workloads denies traffic by default.
package isolation

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
	"github.com/eventuallytrue/audit/rules/workloads"
)

// Rule returns the rule that traffic is denied by default in each
// namespace.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "default-deny-present",
		Doc: `every namespace with workloads denies traffic by default

A pod that no policy selects takes traffic from everywhere and may talk to
everywhere. A namespace is safe in a direction when policies in force select
every pod that could ever be in it, and none of them admits everything: then a
workload that nobody thought of is closed until somebody opens it.

Ingress and egress are judged apart. A finding is "missing" where nothing or not
enough denies, "partial" where only some peers are denied, and "defeated" where
an allow-all beside the deny opens it again. One that is missing weighs less
where every workload of today is isolated all the same, and one that is defeated
where it is open for some workloads or to some peers only.

A namespace without live workloads is an advisory. So is a pod in the host's
network, which no policy isolates. A NetworkPolicy is enforced by the network
plugin; that it exists proves no more than that it was asked for.`,
		Severity: rules.High,
		Subject:  rules.SubjectNamespace,
		Needs: slices.Sorted(slices.Values(slices.Concat(snapshot.WorkloadKinds(), snapshot.PolicyKinds(),
			[]snapshot.Kind{snapshot.Namespaces, snapshot.Pods}))),
		Settings: []rules.Setting{rules.SettingDirections, rules.SettingExemptNamespaces},
		Run:      run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	var res rules.Result
	for n := range judgeNamespaces(in.View) {
		exempt := in.Exempt(n.meta.Name)
		res.Isolation = append(res.Isolation, n.row(exempt))
		for _, d := range snapshot.Directions() {
			if exempt || !slices.Contains(in.Directions, d) {
				res.Exempted = append(res.Exempted, n.subject(d))
			}
		}
		if exempt {
			continue
		}
		owner := in.Owner(n.meta)
		res.Advisories = append(res.Advisories, n.advisories(owner)...)
		for _, d := range in.Directions {
			v, ok := n.violation(d, owner, in)
			switch {
			case len(n.unmodelled) > 0:
				res.NotEvaluated = append(res.NotEvaluated, n.subject(d))
			case !ok:
			case n.workloads == 0:
				res.Advisories = append(res.Advisories, withoutWorkloads(v))
			case n.terminating:
				res.Advisories = append(res.Advisories, whileTerminating(v))
			default:
				res.Violations = append(res.Violations, v)
			}
		}
	}
	return res, nil
}

// judgeNamespaces judges every namespace that there is, or that an object is in,
// sorted by name, and yields what is known of one after the other: of all of them at
// once it is more than what was read of them.
func judgeNamespaces(v *snapshot.View) iter.Seq[*namespaceDenial] {
	workloads := workloads.Live(v)
	policies := policy.Compile(v)
	off := unenforced(v)
	metas := map[string]*snapshot.Meta{}
	for ns := range v.Namespaces() {
		metas[ns.Name] = &ns.Meta
	}
	// Manifests may leave the Namespace to somebody else.
	missing := func(name string) {
		if metas[name] == nil {
			metas[name] = &snapshot.Meta{Kind: "Namespace", Name: name}
		}
	}
	for name := range workloads {
		missing(name)
	}
	for name := range policies.Namespaces() {
		missing(name)
	}
	unmodelled := map[string][]string{}
	for u := range v.Unsupported() {
		unmodelled[u.Namespace] = append(unmodelled[u.Namespace], string(u.Kind))
	}
	return func(yield func(*namespaceDenial) bool) {
		for _, name := range slices.Sorted(maps.Keys(metas)) {
			var labels snapshot.Labels
			terminating := false
			if ns := v.Namespace(name); ns != nil {
				labels, terminating = ns.Labels, ns.Terminating
			}
			n := judgeNamespace(metas[name], off, policies.For(name, labels), workloads[name])
			n.terminating = terminating
			// Some may be about any namespace.
			n.unmodelled = slices.Concat(unmodelled[""], unmodelled[name])
			slices.Sort(n.unmodelled)
			n.unmodelled = slices.Compact(n.unmodelled)
			if !yield(n) {
				return
			}
		}
	}
}

// unenforced returns what switches the enforcement of policies off, or nil.
func unenforced(v *snapshot.View) *snapshot.Enforcement {
	for e := range v.Enforcements() {
		return e
	}
	return nil
}

// advisories returns what is worth a line whatever the verdict.
func (n *namespaceDenial) advisories(owner rules.Owner) []rules.Advisory {
	var out []rules.Advisory
	if len(n.unmodelled) > 0 {
		out = append(out, rules.Advisory{
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: n.meta.Name, Detail: "not evaluated"},
			Owners:  []rules.Owner{owner},
			Message: "whether traffic is denied by default was not evaluated: there are policies of kinds that are not understood: " +
				strings.Join(n.unmodelled, ", "),
		})
	}
	if len(n.host) > 0 {
		a := rules.Advisory{
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: n.meta.Name, Detail: "host network"},
			Owners:  []rules.Owner{owner},
			Message: rules.Count(len(n.host), "workload") + " in the host's network, which no policy isolates",
		}
		for _, w := range n.host {
			a.Objects = append(a.Objects, rules.ObjectOf(w.Meta, owner, reasonHostNetwork, ""))
		}
		out = append(out, a)
	}
	return out
}

func withoutWorkloads(v rules.Violation) rules.Advisory {
	return rules.Advisory{
		Subject: v.Subject, Owners: v.Owners,
		Message: strings.ToLower(v.Subject.Detail) + " is not denied by default; the namespace has no live workload yet, " +
			"but the next one would be open",
	}
}

func whileTerminating(v rules.Violation) rules.Advisory {
	return rules.Advisory{
		Subject: v.Subject, Owners: v.Owners, Objects: v.Objects,
		Message: strings.ToLower(v.Subject.Detail) + " is not denied by default for what still runs in a namespace that is being deleted",
	}
}

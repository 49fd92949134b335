// Package ownership is the rule owner-known: each namespace with workloads has an
// owner.
package ownership

import (
	"fmt"
	"maps"
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
	"github.com/eventuallytrue/audit/rules/workloads"
)

// Rule returns the rule that each namespace with workloads has an owner.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "owner-known",
		Doc: `every namespace with workloads has an owner

If something breaks in a namespace without an owner, nobody who can fix it is
notified: its findings go to the fallback owner, and other rules treat the
namespace as an owner of its own. The owner comes from the registry in the
config, or from the owner key of the Namespace. The owner key of an object is not
enough: anyone who can write there can sign as any team, so it only says who is
notified.

If an object names a different owner than its Namespace, its owner key is ignored
and reported as an advisory, unless the namespace is shared.`,
		Severity: rules.Low,
		Subject:  rules.SubjectNamespace,
		Needs: slices.Sorted(slices.Values(append(snapshot.WorkloadKinds(),
			snapshot.Namespaces, snapshot.Pods))),
		Affected: append(snapshot.WorkloadKinds(), snapshot.Pods),
		Settings: []rules.Setting{rules.SettingExemptNamespaces},
		Run:      run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	var res rules.Result
	byNamespace := workloads.Live(in.View)
	notEvaluated := func(name string) {
		res.NotEvaluated = append(res.NotEvaluated, rules.Subject{Kind: rules.SubjectNamespace, Name: name})
	}
	// Of these Namespaces the owner key, or of these namespaces a workload, is not known.
	unreadKey, unread := map[string]bool{}, map[string]bool{}
	for f := range in.View.Faults() {
		if f.Resource == snapshot.Namespaces {
			unreadKey[f.Name] = true
		} else {
			unread[f.Namespace] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byNamespace)) {
		if in.Exempt(name) {
			res.Exempted = append(res.Exempted, rules.Subject{Kind: rules.SubjectNamespace, Name: name})
			continue
		}
		if ns := in.View.Namespace(name); unreadKey[name] || ns != nil && ns.Deleting() && ns.Deletion.Fresh(in.Now) {
			notEvaluated(name)
			continue
		}
		var unowned []rules.Object
		for _, w := range byNamespace[name] {
			owner := in.Owner(w.Meta)
			switch {
			case !owner.Known():
				unowned = append(unowned, rules.ObjectOf(w.Meta, owner, "no-owner", "neither it nor its Namespace names an owner"))
			case owner.Unverified:
				unowned = append(unowned, rules.ObjectOf(w.Meta, owner, "owner-unverified", "it names an owner, but its Namespace does not"))
			}
			if a, ok := rules.Contradiction(w.Meta, owner); ok {
				res.Advisories = append(res.Advisories, a)
			}
		}
		if len(unowned) > 0 {
			slices.SortStableFunc(unowned, rules.CompareObjects)
			res.Violations = append(res.Violations, unownedViolation(name, unowned))
			delete(unread, name)
		}
	}
	for name := range unread {
		if !in.Exempt(name) {
			notEvaluated(name)
		}
	}
	return res, nil
}

func unownedViolation(namespace string, unowned []rules.Object) rules.Violation {
	tail, arrivals := rules.Count(len(unowned), "workload")+" without a verified owner.", rules.Arrivals("unowned", unowned)
	return rules.Violation{
		Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: namespace},
		Verdict: "unowned",
		Owners:  []rules.Owner{{Namespace: namespace}},
		Message: fmt.Sprintf("Namespace %s has %s", namespace, tail), MessageTail: tail,
		Cause: arrivals, CauseTail: arrivals,
		Remedy:  "Set one of the configured owner keys on the Namespace, or add the namespace to a team in the config.",
		Objects: unowned,
	}
}

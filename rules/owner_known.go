package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// OwnerKnown is the rule that somebody owns each namespace with workloads.
func OwnerKnown() *Rule {
	return &Rule{
		Name: "owner-known",
		Doc: `every namespace with workloads has an owner

Whatever breaks in a namespace without an owner reaches nobody who can mend it:
its findings go to the fallback owner, and for other rules the namespace counts
as an owner of its own. The owner comes from the registry in the config, from
the owner key of the Namespace, or from that of the object itself.

An object that names another owner than its Namespace has is not believed and
is an advisory, except in a namespace that is shared.`,
		Severity: Low,
		Subject:  SubjectNamespace,
		Needs: slices.Sorted(slices.Values(append(snapshot.WorkloadKinds(),
			snapshot.Namespaces, snapshot.Pods))),
		Settings: []Setting{SettingExemptNamespaces},
		Run:      runOwnerKnown,
	}
}

func runOwnerKnown(in Input) (Result, error) {
	var res Result
	byNamespace := liveWorkloads(in.View)
	for _, name := range slices.Sorted(maps.Keys(byNamespace)) {
		if in.Exempt(name) {
			res.Exempted = append(res.Exempted, Subject{Kind: SubjectNamespace, Name: name})
			continue
		}
		if ns := in.View.Namespace(name); ns != nil && ns.Terminating {
			continue
		}
		var unowned []Object
		for _, w := range byNamespace[name] {
			owner := in.Owner(w.meta)
			if !owner.Known() {
				unowned = append(unowned, objectOf(w.meta, owner, "no-owner", "names none, and neither does its Namespace"))
			}
			if a, ok := contradiction(w.meta, owner); ok {
				res.Advisories = append(res.Advisories, a)
			}
		}
		if len(unowned) > 0 {
			slices.SortStableFunc(unowned, CompareObjects)
			res.Violations = append(res.Violations, unownedViolation(name, unowned))
		}
	}
	return res, nil
}

func unownedViolation(namespace string, unowned []Object) Violation {
	return Violation{
		Subject: Subject{Kind: SubjectNamespace, Name: namespace},
		Verdict: "unowned",
		Owners:  []Owner{{Namespace: namespace}},
		Message: fmt.Sprintf("Nobody is known to own %s in namespace %s.", plural(len(unowned), "workload"), namespace),
		Cause:   arrivals("unowned", unowned),
		Remedy: "Name the owner on the Namespace with one of the configured owner keys, or add the namespace to a team " +
			"in the config.",
		Objects: unowned,
	}
}

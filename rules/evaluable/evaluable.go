// Package evaluable is the rule objects-evaluated: every object that a rule reads can be
// read and evaluated.
package evaluable

import (
	"fmt"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule returns the rule that every object can be evaluated.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "objects-evaluated",
		Doc: `every object that a rule reads can be evaluated

An object may have a value that its kind can't have, hold more than the limits in
the config allow, or contain a regular expression that RE2 can't parse. What it
claims, selects or allows is then unknown: no rule finds a violation that it is part
of, and none that it was part of is resolved. Whoever may write such an object can
keep it that way, so it is a finding of its own. It goes to the owner of the
namespace, whatever the object says, and to the fallback owner.

The finding is resolved when the object is gone or can be evaluated, and every rule
that reads its kind ran. The sweep is incomplete until then. The detail of the subject
is the resource of the object, such as ingresses.networking.k8s.io.`,
		Severity:    rules.Medium,
		Subject:     rules.SubjectObject,
		Needs:       []snapshot.Kind{snapshot.Namespaces},
		AfterOthers: true,
		Run:         run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	var res rules.Result
	for i := range in.Faults {
		res.Violations = append(res.Violations, violation(in, &in.Faults[i]))
	}
	return res, nil
}

func violation(in rules.Input, f *snapshot.Fault) rules.Violation {
	// Without the owner key of the object: the owner of the namespace has to know.
	m := snapshot.Meta{Group: f.Group, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name}
	owner := in.Owner(&m)
	subject := rules.SubjectOf(&m)
	// Kinds of different groups may have the same name.
	subject.Detail = string(f.Resource)
	return rules.Violation{
		Subject:  subject,
		Verdict:  "not-evaluated",
		Owners:   []rules.Owner{owner},
		Fallback: true,
		Message: fmt.Sprintf("%s can't be evaluated: %s. What it claims, selects or allows is unknown, and findings that it is part of are neither opened nor resolved.",
			f.Ref, f.Reason),
		Remedy:  "Correct what can't be evaluated, or delete the object. To see it, run: " + get(f),
		Objects: []rules.Object{rules.ObjectOf(&m, owner, "not-evaluated", f.Reason)},
	}
}

// get returns the command that prints an object.
func get(f *snapshot.Fault) string {
	command := fmt.Sprintf("kubectl get %s %s -o yaml", f.Resource, f.Name)
	if f.Namespace != "" {
		command += " -n " + f.Namespace
	}
	return command
}

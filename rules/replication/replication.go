// Package replication is the rule kind-replicated: Gatekeeper replicates the kinds
// that its templates look up.
package replication

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule returns the rule that Gatekeeper replicates the kinds that its templates
// look up.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "kind-replicated",
		Doc: `Gatekeeper replicates every kind that its templates look up

A ConstraintTemplate may evaluate an object against others, which it looks up in
Gatekeeper's own copy of the cluster. If Gatekeeper is not configured to
replicate a kind, its copy has no objects of that kind: the policy does not lag
but is blind, and admits everything, without an error anywhere.

Templates declare the kinds that they look up in the annotation
metadata.gatekeeper.sh/requires-sync-data. The Config named "config" and SyncSets
list the kinds that are replicated. A finding is a template with a requirement
for which no kind is replicated in the version that it asks for. A template that
looks something up and declares no kinds is an advisory. If Gatekeeper is not
installed, the rule reports nothing and costs no request.

Gatekeeper unloads a template, and stops replicating what a SyncSet or the Config
lists, as soon as its deletion begins, even if a finalizer holds the object. So does
this rule.

While a SyncSet or the Config can't be decoded, a template that needs a kind that
nothing else replicates is not evaluated.`,
		Severity: rules.High,
		Subject:  rules.SubjectTemplate,
		Needs:    []snapshot.Kind{snapshot.GatekeeperConfigs, snapshot.ConstraintTemplates, snapshot.SyncSets},
		Run:      run,
	}
}

// run takes what is being deleted for gone, whatever finalizers hold it, because Gatekeeper
// does: its controllers of templates, SyncSets and the Config check deletionTimestamp, and
// unload the template or stop replicating at once (pkg/controller/constrainttemplate,
// syncset and config). A deletion can't be undone, so such a template stays without effect.
func run(in rules.Input) (rules.Result, error) {
	copied := map[snapshot.VersionKind]bool{}
	var by []*snapshot.Replication
	for r := range in.View.Replications() {
		if r.Deleting() || r.Ignored != "" {
			continue
		}
		by = append(by, r)
		for _, k := range r.Kinds {
			copied[k] = true
		}
	}
	unread := slices.ContainsFunc(slices.Collect(in.View.Faults()), mayReplicate)
	var res rules.Result
	for t := range in.View.ConstraintTemplates() {
		if t.Deleting() {
			continue
		}
		owner := in.Owner(&t.Meta)
		missing := slices.DeleteFunc(slices.Clone(t.Requires), func(anyOf []snapshot.VersionKind) bool {
			return slices.ContainsFunc(anyOf, func(k snapshot.VersionKind) bool { return copied[k] })
		})
		switch {
		case len(missing) > 0 && unread:
			// What could not be read may replicate them.
			res.NotEvaluated = append(res.NotEvaluated, subjectOf(t))
		case len(missing) > 0:
			res.Violations = append(res.Violations, blindTemplate(t, missing, by, owner, in.Owner))
		case t.Unreadable != "":
			res.Advisories = append(res.Advisories, templateAdvisory(t, owner, "the kinds that it looks up are unknown: "+t.Unreadable))
		case t.LooksUp && len(t.Requires) == 0:
			res.Advisories = append(res.Advisories, templateAdvisory(t, owner,
				"it looks up objects in Gatekeeper's copy of the cluster but does not declare their kinds, so whether they are replicated was not evaluated"))
		}
	}
	return res, nil
}

// mayReplicate reports whether an object that could not be read may say what is
// replicated. A Config of another name says nothing to Gatekeeper.
func mayReplicate(f *snapshot.Fault) bool {
	return f.Resource == snapshot.SyncSets || f.Resource == snapshot.GatekeeperConfigs && f.Name == "config"
}

func subjectOf(t *snapshot.ConstraintTemplate) rules.Subject {
	return rules.Subject{Kind: rules.SubjectTemplate, Name: t.Name}
}

func blindTemplate(t *snapshot.ConstraintTemplate, missing [][]snapshot.VersionKind, by []*snapshot.Replication,
	owner rules.Owner, ownerOf func(*snapshot.Meta) rules.Owner,
) rules.Violation {
	var kinds []string
	for _, anyOf := range missing {
		kinds = append(kinds, describeKinds(anyOf))
	}
	objects := []rules.Object{rules.ObjectOf(&t.Meta, owner, "looks-up", "looks up "+strings.Join(kinds, " and "))}
	for _, r := range by {
		objects = append(objects, rules.ObjectOf(&r.Meta, ownerOf(&r.Meta), "replicates", "replicates "+rules.Count(len(r.Kinds), "kind")))
	}
	return rules.Violation{
		Subject: subjectOf(t),
		Verdict: "blind",
		Owners:  []rules.Owner{owner},
		Message: fmt.Sprintf("ConstraintTemplate %s looks up %s, which Gatekeeper does not replicate: its constraints see no such objects and admit everything.",
			t.Name, strings.Join(kinds, " and ")),
		Cause:   "Neither the Config named \"config\" nor a SyncSet lists the kind in that version. This is not a lag: it does not resolve by itself.",
		Remedy:  "Add the kind to spec.gvks of a SyncSet or to spec.sync.syncOnly of the Config, and allow Gatekeeper to list and watch it.",
		Objects: objects,
	}
}

// describeKinds names alternative kinds.
func describeKinds(anyOf []snapshot.VersionKind) string {
	var names []string
	for _, k := range anyOf {
		names = append(names, k.String())
	}
	return strings.Join(names, " or ")
}

func templateAdvisory(t *snapshot.ConstraintTemplate, owner rules.Owner, message string) rules.Advisory {
	return rules.Advisory{
		Subject: rules.Subject{Kind: rules.SubjectTemplate, Name: t.Name},
		Owners:  []rules.Owner{owner},
		Message: message,
		Objects: []rules.Object{rules.ObjectOf(&t.Meta, owner, "looks-up", "")},
	}
}

// Package replication is the rule kind-replicated: Gatekeeper copies the kinds
// that its templates look up.
package replication

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule returns the rule that Gatekeeper has copies of the kinds that its
// rules look up.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "kind-replicated",
		Doc: `Gatekeeper replicates every kind that its templates look up

A ConstraintTemplate may judge one object by others, which it looks up in
Gatekeeper's own copy of the cluster. Of a kind that nobody told Gatekeeper to
copy, that copy is empty: the rule is not behind but blind, and lets everything
through for ever without an error anywhere.

Templates declare what they look up in the annotation
metadata.gatekeeper.sh/requires-sync-data; what is copied stands in the Config
called "config" and in SyncSets. A finding is a template with a requirement that
nothing of it is copied for, in the version that it asks for. A template that
looks something up and declares nothing is an advisory. Where Gatekeeper is not
installed the rule has nothing to say and costs no request.`,
		Severity: rules.High,
		Subject:  rules.SubjectTemplate,
		Needs:    []snapshot.Kind{snapshot.GatekeeperConfigs, snapshot.ConstraintTemplates, snapshot.SyncSets},
		Run:      run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	copied := map[snapshot.VersionKind]bool{}
	var by []*snapshot.Replication
	for r := range in.View.Replications() {
		if r.Deleting || r.Ignored != "" {
			continue
		}
		by = append(by, r)
		for _, k := range r.Kinds {
			copied[k] = true
		}
	}
	var res rules.Result
	for t := range in.View.ConstraintTemplates() {
		if t.Deleting {
			continue
		}
		owner := in.Owner(&t.Meta)
		missing := slices.DeleteFunc(slices.Clone(t.Requires), func(anyOf []snapshot.VersionKind) bool {
			return slices.ContainsFunc(anyOf, func(k snapshot.VersionKind) bool { return copied[k] })
		})
		switch {
		case len(missing) > 0:
			res.Violations = append(res.Violations, blindTemplate(t, missing, by, owner, in.Owner))
		case t.Unreadable != "":
			res.Advisories = append(res.Advisories, templateAdvisory(t, owner, "what it looks up is not known: "+t.Unreadable))
		case t.LooksUp && len(t.Requires) == 0:
			res.Advisories = append(res.Advisories, templateAdvisory(t, owner,
				"it looks up Gatekeeper's copy of the cluster and does not declare of which kinds, so whether they are copied was not judged"))
		}
	}
	return res, nil
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
		objects = append(objects, rules.ObjectOf(&r.Meta, ownerOf(&r.Meta), "replicates", fmt.Sprintf("copies %s", rules.Count(len(r.Kinds), "kind"))))
	}
	return rules.Violation{
		Subject: rules.Subject{Kind: rules.SubjectTemplate, Name: t.Name},
		Verdict: "blind",
		Owners:  []rules.Owner{owner},
		Message: fmt.Sprintf("ConstraintTemplate %s looks up %s, which nothing replicates: its constraints see none and let everything through.",
			t.Name, strings.Join(kinds, " and ")),
		Cause: "No Config called config and no SyncSet names the kind in that version. This is no lag: it stays so until one does.",
		Remedy: "Add the kind to spec.gvks of a SyncSet, or to spec.sync.syncOnly of the Config, and give Gatekeeper the right to " +
			"list and watch it.",
		Objects: objects,
	}
}

// describeKinds names kinds of which one is enough.
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

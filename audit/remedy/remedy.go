// Package remedy writes what would end a finding: objects to apply, or the commands that
// show what to change. It applies nothing.
//
// An object is written only if the rules, evaluated again on the same snapshot with it,
// find the finding gone and no other one opened.
package remedy

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Find returns the remedies of the findings of a result, by the ID of the finding. Each is
// YAML with comments; one that has nothing to apply consists of comments, with the
// commands to run. Not every finding has one. The findings of both directions of a
// namespace have the same remedy. ownerKey is the key that a Namespace names its owner by.
func Find(res *audit.Result, ownerKey string) map[string]string {
	snap := res.Snapshot()
	if snap == nil {
		return nil
	}
	out := map[string]string{}
	candidates := slices.Concat(defaultDenies(snap, res.Findings), syncSets(snap, res.Findings), narrowed(snap, res.Findings))
	for _, c := range verified(res, candidates) {
		for _, id := range c.ends {
			out[id] = c.text()
		}
	}
	for _, f := range res.Findings {
		if out[f.ID] != "" {
			continue
		}
		if commands := toRun(f, ownerKey); commands != "" {
			out[f.ID] = commands
		}
	}
	return out
}

// candidate is an object that may end some findings.
type candidate struct {
	ends    []string // IDs of findings
	comment string   // for people; lines without "#"
	object  any
	// What the object is to the rules.
	policies     []snapshot.Policy
	replications []snapshot.Replication
}

// text returns the object as YAML, with its comment.
func (c *candidate) text() string {
	out, err := yaml.Marshal(c.object)
	if err != nil {
		return "" // every candidate is made of types that can be encoded
	}
	return commented(c.comment) + string(out)
}

// verified returns the candidates that end their findings and open none. All of them are
// tried at once, since each is about a namespace or a template of its own; those that fail
// are left out, and the others are tried again, since they may depend on them.
func verified(res *audit.Result, candidates []*candidate) []*candidate {
	before := map[string]bool{}
	for _, f := range res.Findings {
		before[f.ID] = true
	}
	for len(candidates) > 0 {
		var policies []snapshot.Policy
		var replications []snapshot.Replication
		for _, c := range candidates {
			policies = append(policies, c.policies...)
			replications = append(replications, c.replications...)
		}
		after := map[string]bool{}
		opened := false
		again := res.EvaluateWith(policies, replications, "default-deny-present", "kind-replicated")
		for _, f := range again.Findings {
			after[f.ID] = true
			opened = opened || !before[f.ID]
		}
		// What can no longer be evaluated is not ended.
		for _, s := range again.NotEvaluated {
			after[rules.ID(s.Rule, s.Subject)] = true
		}
		left := slices.DeleteFunc(slices.Clone(candidates), func(c *candidate) bool {
			return slices.ContainsFunc(c.ends, func(id string) bool { return after[id] })
		})
		switch {
		case len(left) == len(candidates) && !opened:
			return left
		case len(left) == len(candidates):
			return nil // which of them opens another finding is unknown
		}
		candidates = left
	}
	return nil
}

// commented returns text as comments of YAML.
func commented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight("# "+strings.TrimRight(line, "\n"), " ") + "\n")
	}
	return b.String()
}

// toRun returns the commands that show what a finding is about and what to change.
func toRun(f audit.Finding, ownerKey string) string {
	var lines []string
	switch f.Rule {
	case "one-owner-per-host":
		lines = append(lines, fmt.Sprintf("These objects claim %s. Agree on which owner keeps it:", f.Subject.Name))
		lines = append(lines, show(f.Objects)...)
		lines = append(lines, "Then remove the host from the objects of the others, where they come from.")
	case "default-deny-present":
		var opening []rules.Object
		for _, o := range f.Objects {
			if strings.HasSuffix(o.Kind, "Policy") {
				opening = append(opening, o)
			}
		}
		if len(opening) == 0 {
			return ""
		}
		lines = append(lines, "These policies admit more than a default-deny leaves. Narrow or remove them:")
		lines = append(lines, show(opening)...)
	case "owner-known":
		lines = append(
			lines, "Name the team that owns the namespace:",
			fmt.Sprintf("  kubectl annotate namespace %s %s=TEAM", word(f.Subject.Name), word(ownerKey)),
		)
	default:
		return ""
	}
	return commented(strings.Join(lines, "\n"))
}

// mostShown is the number of objects that a remedy shows.
const mostShown = 10

// show returns the commands that show some objects.
func show(objects []rules.Object) []string {
	var lines []string
	for _, o := range objects[:min(len(objects), mostShown)] {
		m := snapshot.Meta{Group: o.Group, Kind: o.Kind}
		line := fmt.Sprintf("  kubectl get %s %s -o yaml", word(string(m.Resource())), word(o.Name))
		if o.Namespace != "" {
			line += " -n " + word(o.Namespace)
		}
		if o.Owner != "" {
			line += "   # owned by " + o.Owner
		}
		lines = append(lines, line)
	}
	if more := len(objects) - mostShown; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return lines
}

// word returns text as one word of a shell. An API server accepts no name that would need
// quotes, but a manifest can have any.
func word(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._/:", r)
	}
	if text != "" && strings.TrimFunc(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

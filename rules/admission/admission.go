// Package admission gathers what admission control could have seen: evidence that
// rules share when they say how a violation can have come about.
package admission

import (
	"fmt"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Evidence is what is known of the admission controls of a cluster, by the kind of
// object that they could have rejected.
type Evidence struct {
	view     *snapshot.View
	known    bool                                    // whether they could be read
	bindings map[string][]*snapshot.AdmissionBinding // by policy
	byKind   map[snapshot.Kind]*Controls
}

// NewEvidence returns the evidence in a snapshot.
func NewEvidence(v *snapshot.View) *Evidence {
	b := &Evidence{
		view: v, known: v.Known(snapshot.AdmissionKinds()...),
		bindings: map[string][]*snapshot.AdmissionBinding{}, byKind: map[snapshot.Kind]*Controls{},
	}
	if b.known {
		for binding := range v.AdmissionBindings() {
			b.bindings[binding.Policy] = append(b.bindings[binding.Policy], binding)
		}
	}
	return b
}

// Controls are the admission controls that apply to objects of one kind.
type Controls struct {
	*Evidence
	controls []*snapshot.AdmissionControl
}

// For returns the admission controls that apply to objects like the given one.
func (b *Evidence) For(m *snapshot.Meta) *Controls {
	kind := m.Resource()
	if g, ok := b.byKind[kind]; ok {
		return g
	}
	g := &Controls{Evidence: b}
	if b.known {
		for gate := range b.view.AdmissionControls() {
			if creates, updates := gate.Looks(kind); creates || updates {
				g.controls = append(g.controls, gate)
			}
		}
	}
	b.byKind[kind] = g
	return g
}

// unknownTimeout is how long a webhook may take where it is not known which
// there are: the API's default.
const unknownTimeout = 10 * time.Second

// SlowestTimeout returns how long the slowest webhook may keep an object waiting: two
// objects that far apart may have been judged at once.
func (g *Controls) SlowestTimeout() time.Duration {
	if !g.known {
		return unknownTimeout
	}
	var longest time.Duration
	for _, gate := range g.controls {
		longest = max(longest, gate.Timeout)
	}
	return longest
}

// Gaps says why the admission controls may have let an object of a namespace through, in
// words for people.
func (g *Controls) Gaps(namespace string) string {
	if !g.known {
		return "The gates at admission could not be read."
	}
	if len(g.controls) == 0 {
		return "Among what was read no webhook and no ValidatingAdmissionPolicy looks at such objects."
	}
	var labels snapshot.Labels
	if ns := g.view.Namespace(namespace); ns != nil {
		labels = ns.Labels
	}
	labels = labels.With(snapshot.NamespaceNameLabel, namespace)
	var holes []string
	sound := 0
	for _, gate := range g.controls {
		hole := g.gap(gate, labels)
		if hole == "" {
			sound++
			continue
		}
		holes = append(holes, fmt.Sprintf("%s %s", controlName(gate), hole))
	}
	switch {
	case sound == 0:
		return fmt.Sprintf("For namespace %s: %s.", namespace, joinSome(holes))
	case len(holes) == 0:
		return fmt.Sprintf("%s at such objects and fails closed: whether it knows this rule, and how old its copy of the "+
			"cluster was, cannot be read.", rules.CountVerb(sound, "gate", "look"))
	}
	return fmt.Sprintf("%s at such objects and fails closed; beside that, %s.", rules.CountVerb(sound, "gate", "look"), joinSome(holes))
}

// hole says how a gate lets objects with these labels of their Namespace
// through; empty if it does not.
func (g *Controls) gap(gate *snapshot.AdmissionControl, namespace snapshot.Labels) string {
	switch {
	case !gate.Namespaces.Matches(namespace):
		return "does not look at that namespace"
	case gate.Webhook == "" && !g.denies(gate, namespace):
		return "has no binding there that denies: it only warns or records"
	case gate.FailsOpen:
		return "fails open (failurePolicy Ignore)"
	case gate.Conditional:
		return "looks only at objects that meet its conditions"
	}
	return ""
}

// denies reports whether a policy is bound such that it refuses objects of the
// namespace.
func (g *Controls) denies(policy *snapshot.AdmissionControl, namespace snapshot.Labels) bool {
	for _, b := range g.bindings[policy.Name] {
		if b.Denies && b.Namespaces.Matches(namespace) {
			return true
		}
	}
	return false
}

func controlName(g *snapshot.AdmissionControl) string {
	if g.Webhook != "" {
		return "webhook " + g.Webhook
	}
	return "policy " + g.Name
}

// namedHoles is how many holes a cause names.
const namedGaps = 3

func joinSome(list []string) string {
	out := ""
	for i, s := range list {
		switch {
		case i == namedGaps:
			return fmt.Sprintf("%s and %d more", out, len(list)-i)
		case i > 0:
			out += "; "
		}
		out += s
	}
	return out
}

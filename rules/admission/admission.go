// Package admission gathers what admission control could have seen: evidence that
// rules share when they say how a violation may have come about.
package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Evidence is what is known about the admission controls of a cluster, by the kind
// of object that they could have rejected.
type Evidence struct {
	view     *snapshot.View
	known    bool                                    // whether they could be read
	bindings map[string][]*snapshot.AdmissionBinding // by policy
	byKind   map[snapshot.Kind]*Controls
}

// NewEvidence returns the evidence in a snapshot.
func NewEvidence(v *snapshot.View) *Evidence {
	e := &Evidence{
		view: v, known: v.Known(snapshot.AdmissionKinds()...),
		bindings: map[string][]*snapshot.AdmissionBinding{}, byKind: map[snapshot.Kind]*Controls{},
	}
	if e.known {
		for binding := range v.AdmissionBindings() {
			e.bindings[binding.Policy] = append(e.bindings[binding.Policy], binding)
		}
	}
	return e
}

// Controls are the admission controls that apply to objects of one kind.
type Controls struct {
	*Evidence
	controls []*snapshot.AdmissionControl
}

// For returns the admission controls that apply to objects like the given one.
func (e *Evidence) For(m *snapshot.Meta) *Controls {
	kind := m.Resource()
	if c, ok := e.byKind[kind]; ok {
		return c
	}
	c := &Controls{Evidence: e}
	if e.known {
		for control := range e.view.AdmissionControls() {
			if creates, updates := control.Looks(kind); creates || updates {
				c.controls = append(c.controls, control)
			}
		}
	}
	e.byKind[kind] = c
	return c
}

// unknownTimeout is the timeout of a webhook if it is unknown which webhooks there
// are: the API's default.
const unknownTimeout = 10 * time.Second

// SlowestTimeout returns how long the slowest webhook may delay an object. Two
// objects that were created within that time may have been admitted concurrently.
func (c *Controls) SlowestTimeout() time.Duration {
	if !c.known {
		return unknownTimeout
	}
	var slowest time.Duration
	for _, control := range c.controls {
		slowest = max(slowest, control.Timeout)
	}
	return slowest
}

// Gaps says in words for people why the admission controls may have admitted an
// object in a namespace.
func (c *Controls) Gaps(namespace string) string {
	if !c.known {
		return "The configuration of admission control could not be read."
	}
	if len(c.controls) == 0 {
		return "No webhook or ValidatingAdmissionPolicy that was read applies to such objects."
	}
	var labels snapshot.Labels
	if ns := c.view.Namespace(namespace); ns != nil {
		labels = ns.Labels
	}
	labels = labels.With(snapshot.NamespaceNameLabel, namespace)
	var gaps []string
	for _, control := range c.controls {
		if gap := c.gap(control, labels); gap != "" {
			gaps = append(gaps, name(control)+" "+gap)
		}
	}
	sound := "1 admission control covers such objects and fails closed"
	switch n := len(c.controls) - len(gaps); {
	case n == 0:
		return fmt.Sprintf("In namespace %s, %s.", namespace, join(gaps))
	case n > 1:
		sound = fmt.Sprintf("%d admission controls cover such objects and fail closed", n)
	}
	if len(gaps) == 0 {
		return sound + ". Whether this rule is enforced there, and how stale its view of the cluster was, is unknown."
	}
	return fmt.Sprintf("%s, but %s.", sound, join(gaps))
}

// gap says how a control admits objects in a Namespace with these labels. It is
// empty if the control does not.
func (c *Controls) gap(control *snapshot.AdmissionControl, namespace snapshot.Labels) string {
	switch {
	case !control.Namespaces.Matches(namespace):
		return "does not select the namespace"
	case control.Webhook == "" && !c.denies(control, namespace):
		return "has no binding that denies: it only warns or audits"
	case control.FailsOpen:
		return "fails open (failurePolicy: Ignore)"
	case control.Conditional:
		return "applies only to objects that meet its conditions"
	}
	return ""
}

// denies reports whether a policy is bound so that it rejects objects in the
// namespace.
func (c *Controls) denies(policy *snapshot.AdmissionControl, namespace snapshot.Labels) bool {
	for _, b := range c.bindings[policy.Name] {
		if b.Denies && b.Namespaces.Matches(namespace) {
			return true
		}
	}
	return false
}

func name(c *snapshot.AdmissionControl) string {
	if c.Webhook != "" {
		return "webhook " + c.Webhook
	}
	return "policy " + c.Name
}

// namedGaps is how many gaps a message names.
const namedGaps = 3

func join(gaps []string) string {
	named := strings.Join(gaps[:min(len(gaps), namedGaps)], "; ")
	if more := len(gaps) - namedGaps; more > 0 {
		return fmt.Sprintf("%s; and %d more", named, more)
	}
	return named
}

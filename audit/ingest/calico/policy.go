// Package calico turns the policies and tiers of Calico into facts. What it says of
// their meaning is from Calico's API (api/pkg/apis/projectcalico/v3) and from what
// becomes of it: libcalico-go/lib/backend/syncersv1/updateprocessors turns it into the
// rules that felix/calc puts in order.
package calico

import (
	"errors"
	"fmt"
	"math"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Tier is what matters here of a Tier of Calico.
type Tier struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Order         *float64 `json:"order"`
		DefaultAction string   `json:"defaultAction"`
	} `json:"spec"`
}

// Fact returns the fact of the Tier with its metadata.
func (o *Tier) Fact(m snapshot.Meta) snapshot.Tier {
	// The default action is Deny where none is set.
	return snapshot.Tier{Meta: m, Order: orderOf(o.Spec.Order), Passes: o.Spec.DefaultAction == "Pass"}
}

// Policy is what matters here of a NetworkPolicy or GlobalNetworkPolicy of
// Calico. A list or a selector that is empty says as much as none.
type Policy struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     policySpec        `json:"spec"`
}

type policySpec struct {
	Tier                   string   `json:"tier"`
	Order                  *float64 `json:"order"`
	Selector               string   `json:"selector"`
	NamespaceSelector      string   `json:"namespaceSelector"` // of a GlobalNetworkPolicy only
	ServiceAccountSelector string   `json:"serviceAccountSelector"`
	Types                  []string `json:"types"`
	Ingress                []rule   `json:"ingress"`
	Egress                 []rule   `json:"egress"`
	DoNotTrack             bool     `json:"doNotTrack"`
	PreDNAT                bool     `json:"preDNAT"`
}

// Facts returns the policies that the object comes to. One that Calico would not
// have taken is Invalid, as it would be no longer in force: Felix treats it as
// deleted (felix/calc/validation_filter.go).
func (o *Policy) Facts(m snapshot.Meta) []snapshot.Policy {
	// These two are for host endpoints and never reach a pod
	// (felix/calc/event_sequencer.go). applyOnForward makes no such difference: it
	// is about hosts alone, and beside that the policy holds for pods as any.
	if m.Group == snapshot.StoredCalicoNetworkPolicies.Group() {
		o.Spec.respell()
	}
	if o.Spec.DoNotTrack || o.Spec.PreDNAT {
		return nil
	}
	p := snapshot.Policy{Meta: m, Order: orderOf(o.Spec.Order)}
	var err error
	if p.Isolates, err = o.Spec.types(); err != nil {
		p.Invalid = err.Error()
	}
	applies := p.Isolates
	placeInTier(&p, o.Spec.Tier)

	draft := policyDraft{policy: p}
	if draft.subject, err = o.Spec.subject(m.Namespace); err != nil {
		draft.doubtful = errors.Is(err, errTooComplex)
		if !draft.doubtful && draft.policy.Invalid == "" {
			draft.policy.Invalid = err.Error()
		}
		// Whom it was meant for is not known; it could have been anybody.
		draft.subject = &expr{op: opAll}
	}
	for _, d := range snapshot.Directions() {
		rules, err := o.Spec.decisions(d, m.Namespace)
		if err != nil && draft.policy.Invalid == "" {
			draft.policy.Invalid = err.Error()
		}
		if applies[d] {
			draft.rules[d] = rules
		}
	}
	if draft.policy.Invalid != "" {
		draft.rules = [2][]ruleDraft{}
	}
	return draft.policies()
}

// respell spells types and actions as the API does. What was written past the API
// into the storage may be spelled otherwise, and is in force all the same: they are
// turned into small letters before anybody looks at them
// (updateprocessors/networkpolicyprocessor.go and rules.go).
func (s *policySpec) respell() {
	for i := range s.Types {
		s.Types[i] = capitalised(s.Types[i])
	}
	for _, rules := range [][]rule{s.Ingress, s.Egress} {
		for i := range rules {
			rules[i].Action = capitalised(rules[i].Action)
		}
	}
}

func capitalised(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + strings.ToLower(word[1:])
}

// types returns the directions that the policy is about. Those that it does not
// name it leaves alone, whatever rules it has for them.
//
// The API fills the field by this rule when an object is written, so it matters
// for manifests and for what went past the API into the storage. There Felix
// reads a policy without types as one of both directions; to follow the API in
// that case, too, at worst calls isolated pods open.
func (s *policySpec) types() ([2]bool, error) {
	if len(s.Types) == 0 {
		return [2]bool{
			snapshot.DirectionIngress: len(s.Egress) == 0 || len(s.Ingress) > 0,
			snapshot.DirectionEgress:  len(s.Egress) > 0,
		}, nil
	}
	var out [2]bool
	for _, t := range s.Types {
		switch t {
		case snapshot.DirectionIngress.String():
			out[snapshot.DirectionIngress] = true
		case snapshot.DirectionEgress.String():
			out[snapshot.DirectionEgress] = true
		default:
			return out, fmt.Errorf("types: there is no type %q", t)
		}
	}
	return out, nil
}

// subject returns which pods the policy selects: those that all of its selectors
// do, where none selects everything. A NetworkPolicy is about its own namespace
// besides.
func (s *policySpec) subject(namespace string) (*expr, error) {
	selectors := []selectorField{
		{"selector", s.Selector, endpointLabels},
		{"serviceAccountSelector", s.ServiceAccountSelector, accountLabels},
	}
	if namespace == "" {
		selectors = append(selectors, selectorField{"namespaceSelector", s.NamespaceSelector, namespaceLabels})
	}
	e, err := parseFields(selectors)
	if err == nil && e.hasGlobal() {
		err = errMisplacedGlobal
	}
	return e, err
}

// decisions returns the rules of one direction. Those that only log decide
// nothing.
func (s *policySpec) decisions(d snapshot.Direction, namespace string) ([]ruleDraft, error) {
	rules, name := s.Ingress, "ingress"
	if d == snapshot.DirectionEgress {
		rules, name = s.Egress, "egress"
	}
	var out []ruleDraft
	for i := range rules {
		decision, err := rules[i].decision(d, namespace)
		if err != nil {
			return nil, fmt.Errorf("%s rule %d: %w", name, i+1, err)
		}
		if rules[i].Action != "Log" {
			out = append(out, decision)
		}
	}
	return out, nil
}

// orderOf returns the place of a policy in its tier, or of a tier. Without
// one it comes last.
func orderOf(order *float64) float64 {
	if order == nil {
		return math.Inf(1)
	}
	return *order
}

// placeInTier says where a policy stands that names a tier.
//
// The tiers that Calico makes by itself may not be changed: it refuses another
// order than theirs, and another default action than Pass for those where the
// policies of the network policy API go. So their objects tell nothing new, and
// what is in them stands in one tier with the policies of Kubernetes. A tier
// without an object comes last (felix/calc/policy_sorter.go, TierLess).
func placeInTier(p *snapshot.Policy, tier string) {
	switch tier {
	case "", "default":
		p.Tier = snapshot.TierDefault
	case "adminnetworkpolicy", "kube-admin":
		p.Tier, p.Isolates = snapshot.TierAdmin, [2]bool{}
	case "baselineadminnetworkpolicy", "kube-baseline":
		p.Tier, p.Isolates = snapshot.TierBaseline, [2]bool{}
	default:
		p.Tier, p.TierName = math.Inf(1), tier
	}
}

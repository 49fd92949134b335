// Package calico turns the policies and tiers of Calico into facts. Their meaning is from
// Calico's API (api/pkg/apis/projectcalico/v3) and from the code that implements it:
// libcalico-go/lib/backend/syncersv1/updateprocessors converts the objects to the rules
// that felix/calc puts in order.
package calico

import (
	"errors"
	"fmt"
	"math"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Tier has the fields of a Tier that matter here.
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

// Policy has the fields of Calico's NetworkPolicy and GlobalNetworkPolicy that matter
// here. An empty list or selector means the same as a missing one.
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

// Facts returns the policies that the object amounts to. One that Calico would have
// rejected is Invalid, because it is not in force: Felix treats it as deleted
// (felix/calc/validation_filter.go).
func (o *Policy) Facts(m snapshot.Meta) []snapshot.Policy {
	// These two are for host endpoints and never reach a pod
	// (felix/calc/event_sequencer.go). applyOnForward is different: it concerns hosts
	// alone, and the policy applies to pods as any other.
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
		// It may have been meant for any pod.
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

// respell spells types and actions as the API does. Objects that were written to the
// storage without the API may spell them otherwise, and are in force all the same: Calico
// converts them to lower case before it reads them
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

// types returns the directions that the policy applies to. Its rules for other directions
// have no effect.
//
// The API sets the field by this default when an object is written, so the default
// matters for manifests and for objects written to the storage without the API. For
// those Felix assumes both directions; following the API there as well at worst reports
// isolated pods as open.
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
			return out, fmt.Errorf("types: unknown type %q", t)
		}
	}
	return out, nil
}

// subject returns the pods that the policy selects: those that match all of its
// selectors, or all pods without any. A NetworkPolicy is limited to its own namespace.
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

// decisions returns the rules of one direction, without those that only log.
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

// orderOf returns the order of a policy in its tier, or of a tier. Without one it comes
// last.
func orderOf(order *float64) float64 {
	if order == nil {
		return math.Inf(1)
	}
	return *order
}

// placeInTier sets the tier of a policy by the name of the tier.
//
// The tiers that Calico creates cannot be changed: it rejects any other order, and any
// default action but Pass for those that hold the policies of the network policy API. So
// their objects add nothing, and their policies are in one tier with those of Kubernetes.
// A tier without an object comes last (felix/calc/policy_sorter.go, TierLess).
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

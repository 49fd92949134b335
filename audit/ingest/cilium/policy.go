// Package cilium turns the policies and the settings of Cilium into facts. Their meaning
// is from Cilium's documentation (docs.cilium.io, Network Policy), which is quoted, and
// where that is silent from its source, at the paths given.
package cilium

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Policy has the fields of a CiliumNetworkPolicy and a CiliumClusterwideNetworkPolicy that
// matter here.
type Policy struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     *policySpec       `json:"spec"`
	Specs    []policySpec      `json:"specs"`
	Status   struct {
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// policySpec is one policy. In many places an empty list means something else than a
// missing one, so decoding must keep the difference.
type policySpec struct {
	EndpointSelector  *metav1.LabelSelector `json:"endpointSelector"`
	NodeSelector      *metav1.LabelSelector `json:"nodeSelector"`
	Ingress           []rule                `json:"ingress"`
	IngressDeny       []rule                `json:"ingressDeny"`
	Egress            []rule                `json:"egress"`
	EgressDeny        []rule                `json:"egressDeny"`
	EnableDefaultDeny struct {
		Ingress *bool `json:"ingress"`
		Egress  *bool `json:"egress"`
	} `json:"enableDefaultDeny"`
}

// Facts returns the facts of an object, one for each of its specs that applies to pods.
// Cilium accepts an object as a whole or not at all (CiliumNetworkPolicy.Parse), so an
// error in one spec makes all of them invalid.
func (o *Policy) Facts(meta snapshot.Meta, selectors Selectors) []snapshot.Policy {
	specs := o.Specs
	if o.Spec != nil {
		specs = append([]policySpec{*o.Spec}, specs...)
	}
	invalid := o.rejected()
	if len(specs) == 0 {
		return []snapshot.Policy{{Meta: meta, Isolates: [2]bool{true, true}, Invalid: "it has no spec"}}
	}
	var out []snapshot.Policy
	for i := range specs {
		p, err := specs[i].fact(meta, selectors)
		if err != nil && invalid == "" {
			invalid = err.Error()
		}
		// A clusterwide policy with a nodeSelector is for the nodes themselves.
		if specs[i].NodeSelector == nil || meta.Namespace != "" {
			p.Part = i
			out = append(out, p)
		}
	}
	for i := range out {
		out[i].Invalid = invalid
	}
	return out
}

// rejected returns the reason for which Cilium rejected the object according to its
// status, or the empty string.
func (o *Policy) rejected() string {
	for _, c := range o.Status.Conditions {
		if c.Type == "Valid" && c.Status == "False" {
			return "Cilium rejects it: " + c.Message
		}
	}
	return ""
}

// fact returns the fact of one spec, or an error if it is invalid, with a fact of what was
// meant.
func (s *policySpec) fact(meta snapshot.Meta, selectors Selectors) (snapshot.Policy, error) {
	wrong := snapshot.Policy{Meta: meta, Isolates: s.meant()}
	subject, err := s.subject(meta.Namespace, selectors)
	if err != nil {
		return wrong, err
	}
	wrong.Subject = subject
	p := snapshot.Policy{Meta: meta, Tier: snapshot.TierDefault, Order: snapshot.OrderNetworkPolicy, Subject: subject}
	rules := 0
	for _, d := range snapshot.Directions() {
		allow, deny, enable := s.section(d)
		rules += len(allow) + len(deny)
		// Every element isolates, even an empty one, which allows nothing; a list
		// without elements does not, whatever enableDefaultDeny says.
		p.Isolates[d] = len(allow)+len(deny) > 0 && (enable == nil || *enable)
		if p.Rules[d], err = selectors.rules(meta.Namespace, d, snapshot.Allow, allow); err != nil {
			return wrong, fmt.Errorf("%s: %w", d, err)
		}
		// "Deny policies take precedence over allow policies", those of other
		// kinds as well.
		if p.Denies[d], err = selectors.rules(meta.Namespace, d, snapshot.Deny, deny); err != nil {
			return wrong, fmt.Errorf("%sDeny: %w", d, err)
		}
	}
	// Rule.Validate in pkg/policy/api/rule_validation.go.
	if rules == 0 {
		return wrong, errors.New("it has no rule in any direction, which Cilium rejects")
	}
	return p, nil
}

// meant returns the directions in which the spec was probably meant to isolate: both, if it
// has no section at all.
func (s *policySpec) meant() [2]bool {
	var out [2]bool
	for _, d := range snapshot.Directions() {
		allow, deny, enable := s.section(d)
		out[d] = (allow != nil || deny != nil) && (enable == nil || *enable)
	}
	if s.Ingress == nil && s.IngressDeny == nil && s.Egress == nil && s.EgressDeny == nil {
		return [2]bool{true, true}
	}
	return out
}

func (s *policySpec) section(d snapshot.Direction) (allow, deny []rule, enable *bool) {
	if d == snapshot.DirectionIngress {
		return s.Ingress, s.IngressDeny, s.EnableDefaultDeny.Ingress
	}
	return s.Egress, s.EgressDeny, s.EnableDefaultDeny.Egress
}

// subject returns the pods that a spec selects: in all namespaces if namespace is empty.
func (s *policySpec) subject(namespace string, selectors Selectors) (snapshot.Subject, error) {
	switch {
	case s.EndpointSelector == nil && s.NodeSelector == nil:
		return nil, errors.New("it has neither endpointSelector nor nodeSelector")
	case s.EndpointSelector != nil && s.NodeSelector != nil:
		return nil, errors.New("it has both endpointSelector and nodeSelector")
	case s.EndpointSelector == nil && namespace != "":
		return nil, errors.New("a nodeSelector is allowed in clusterwide policies only")
	case s.EndpointSelector == nil:
		_, err := selectors.endpoints(s.NodeSelector)
		return nil, err
	}
	selector, err := selectors.endpoints(s.EndpointSelector)
	if err != nil {
		return nil, fmt.Errorf("endpointSelector: %w", err)
	}
	return snapshot.Subject{selector.subject(namespace)}, nil
}

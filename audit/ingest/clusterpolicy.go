package ingest

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// clusterPolicy is what matters here of a policy of any of the kinds.
type clusterPolicy struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     clusterSpec       `json:"spec"`
}

type clusterSpec struct {
	Tier     string        `json:"tier"`
	Priority *int32        `json:"priority"`
	Subject  clusterPeer   `json:"subject"`
	Ingress  []clusterRule `json:"ingress"`
	Egress   []clusterRule `json:"egress"`
}

// clusterRule is a rule; its peers are in the field of its direction.
type clusterRule struct {
	Action    string            `json:"action"`
	From      []clusterPeer     `json:"from"`
	To        []clusterPeer     `json:"to"`
	Protocols []clusterProtocol `json:"protocols"`
	Ports     []clusterPort     `json:"ports"`
}

// placing says where the policies of a kind stand.
type placing func(meta *snapshot.Meta, s *clusterSpec) (tier float64, priority *int32, err error)

func adminPlace(_ *snapshot.Meta, s *clusterSpec) (float64, *int32, error) {
	return snapshot.TierAdmin, s.Priority, nil
}

// baselinePlace: "Only one instance of BaselineAdminNetworkPolicy is allowed", the
// one called default. It has no priority.
func baselinePlace(meta *snapshot.Meta, _ *clusterSpec) (float64, *int32, error) {
	if meta.Name != "default" {
		return snapshot.TierBaseline, nil, errors.New("only the one called default is in force")
	}
	return snapshot.TierBaseline, new(int32), nil
}

func clusterPlace(_ *snapshot.Meta, s *clusterSpec) (float64, *int32, error) {
	switch s.Tier {
	case "Admin":
		return snapshot.TierAdmin, s.Priority, nil
	case "Baseline":
		return snapshot.TierBaseline, s.Priority, nil
	}
	return snapshot.TierDefault, nil, fmt.Errorf("there is no tier %q", s.Tier)
}

// clusterPolicyFact returns the fact of an object. A policy that no API server would
// have admitted says no more than what was meant by it.
func (in *Ingester) clusterPolicyFact(meta snapshot.Meta, place placing, o *clusterPolicy) snapshot.Policy {
	p, err := in.clusterPolicy(meta, place, &o.Spec)
	if err != nil {
		return snapshot.Policy{Meta: p.Meta, Subject: p.Subject, Isolates: o.Spec.meant(), Invalid: err.Error()}
	}
	return p
}

// clusterPolicy returns the fact of a policy, or what is wrong with it. Such
// policies isolate nobody: what none of their rules matches goes on to the next
// tier, and is allowed behind the last.
func (in *Ingester) clusterPolicy(meta snapshot.Meta, place placing, s *clusterSpec) (snapshot.Policy, error) {
	p := snapshot.Policy{Meta: meta}
	// The subject first: it says whom a policy was meant for that is wrong
	// otherwise.
	subject, err := in.clusterSubject(&s.Subject)
	if err != nil {
		return p, fmt.Errorf("subject: %w", err)
	}
	p.Subject = subject
	tier, priority, err := place(&meta, s)
	switch p.Tier = tier; {
	case err != nil:
		return p, err
	case priority == nil:
		return p, errors.New("it has no priority")
	case *priority < 0 || *priority > 1000:
		return p, fmt.Errorf("priority %d is not between 0 and 1000", *priority)
	}
	p.Order = float64(*priority)
	for _, d := range snapshot.Directions() {
		rules := s.Ingress
		if d == snapshot.DirectionEgress {
			rules = s.Egress
		}
		for i := range rules {
			rule, err := in.clusterRule(d, &rules[i])
			if err != nil {
				return p, fmt.Errorf("%s rule: %w", d, err)
			}
			p.Rules[d] = append(p.Rules[d], rule)
		}
	}
	return p, nil
}

// meant says in which directions the policy denies anything.
func (s *clusterSpec) meant() [2]bool {
	denies := func(r clusterRule) bool { return r.Action == "Deny" }
	return [2]bool{
		snapshot.DirectionIngress: slices.ContainsFunc(s.Ingress, denies),
		snapshot.DirectionEgress:  slices.ContainsFunc(s.Egress, denies),
	}
}

func (in *Ingester) clusterRule(d snapshot.Direction, r *clusterRule) (snapshot.Rule, error) {
	var out snapshot.Rule
	switch r.Action {
	case "Accept", "Allow": // the former since v1alpha2
	case "Deny":
		out.Action = snapshot.Deny
	case "Pass":
		out.Action = snapshot.Pass
	default:
		return out, fmt.Errorf("there is no action %q", r.Action)
	}
	peers := r.From
	if d == snapshot.DirectionEgress {
		peers = r.To
	}
	if len(peers) == 0 {
		return out, errors.New("it names no peer")
	}
	for i := range peers {
		if err := in.clusterPeer(&out.Peers, &peers[i]); err != nil {
			return out, err
		}
	}
	var err error
	out.Ports, err = r.ports()
	return out, err
}

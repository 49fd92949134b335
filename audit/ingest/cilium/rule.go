package cilium

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// rule is one element of a section. Which peers it may name depends on the
// direction.
type rule struct {
	FromEndpoints []metav1.LabelSelector `json:"fromEndpoints"`
	FromNodes     []json.RawMessage      `json:"fromNodes"`
	FromEntities  []string               `json:"fromEntities"`
	FromCIDR      []string               `json:"fromCIDR"`
	FromCIDRSet   []cidrRule             `json:"fromCIDRSet"`
	FromGroups    []json.RawMessage      `json:"fromGroups"`
	FromRequires  []json.RawMessage      `json:"fromRequires"`

	ToEndpoints []metav1.LabelSelector `json:"toEndpoints"`
	ToNodes     []json.RawMessage      `json:"toNodes"`
	ToEntities  []string               `json:"toEntities"`
	ToCIDR      []string               `json:"toCIDR"`
	ToCIDRSet   []cidrRule             `json:"toCIDRSet"`
	ToGroups    []json.RawMessage      `json:"toGroups"`
	ToRequires  []json.RawMessage      `json:"toRequires"`
	ToFQDNs     []json.RawMessage      `json:"toFQDNs"`
	ToServices  []json.RawMessage      `json:"toServices"`

	ToPorts        []portRule        `json:"toPorts"`
	ICMPs          []json.RawMessage `json:"icmps"`
	Authentication *struct {
		Mode string `json:"mode"`
	} `json:"authentication"`
}

// peers returns the peers that the rule names in a direction.
func (r *rule) peers(d snapshot.Direction) peerFields {
	if d == snapshot.DirectionIngress {
		return peerFields{
			endpoints: r.FromEndpoints, nodes: r.FromNodes, entities: r.FromEntities,
			cidr: r.FromCIDR, cidrSet: r.FromCIDRSet, groups: r.FromGroups, requires: r.FromRequires,
		}
	}
	return peerFields{
		endpoints: r.ToEndpoints, nodes: r.ToNodes, entities: r.ToEntities,
		cidr: r.ToCIDR, cidrSet: r.ToCIDRSet, groups: r.ToGroups, requires: r.ToRequires,
		fqdns: r.ToFQDNs, services: r.ToServices,
	}
}

// rules returns the rules of a section.
func (s Selectors) rules(namespace string, d snapshot.Direction, action snapshot.Action,
	section []rule,
) ([]snapshot.Rule, error) {
	var out []snapshot.Rule
	for i := range section {
		rules, err := s.rule(namespace, d, action, &section[i])
		if err != nil {
			return nil, err
		}
		out = append(out, rules...)
	}
	return out, nil
}

// rule returns what an element of a section decides on: nothing, or a rule
// for each element of its toPorts.
//
// An element that names neither peers nor ports decides on nothing. One that
// names ports only is about everybody; a list of peers that is there and empty is
// about nobody (PolicyEntry.L3 in pkg/policy/types/policyentry.go).
func (s Selectors) rule(namespace string, d snapshot.Direction, action snapshot.Action,
	r *rule,
) ([]snapshot.Rule, error) {
	named := r.peers(d)
	peers, err := s.peers(namespace, &named)
	if err != nil {
		return nil, err
	}
	if len(r.ICMPs) > 0 && len(r.ToPorts) > 0 {
		return nil, errors.New("a rule has both icmps and toPorts")
	}
	var out []snapshot.Rule
	for i := range r.ToPorts {
		rule, err := r.ToPorts[i].rule(d, action)
		if err != nil {
			return nil, fmt.Errorf("toPorts: %w", err)
		}
		out = append(out, rule)
	}
	switch {
	case named.nobody():
		return nil, nil
	case named.count() == 0:
		peers.Everyone = true
	case len(r.ToPorts) == 0 && len(r.ICMPs) == 0:
		out = []snapshot.Rule{{Action: action, Ports: snapshot.Ports{All: true}}}
	}
	if action == snapshot.Allow && r.Authentication != nil {
		authenticate(&peers, r.Authentication.Mode)
	}
	for i := range out {
		out[i].Peers = peers
		out[i].Narrow = out[i].Narrow || len(named.requires) > 0
	}
	return out, nil
}

// authenticate narrows the peers of a rule that demands mutual authentication.
// Agents prove the identity of the pods on their nodes to each other, and a pod
// needs no secret of its own, so the rule opens to every pod it names. What is
// no pod has no identity to prove ("reserved identities are not compatible with
// authentication", pkg/auth/manager.go) and is turned away.
func authenticate(peers *snapshot.Peers, mode string) {
	switch mode {
	case "required":
		pods := peers.Pods
		if peers.Everyone {
			pods = []snapshot.PodPeer{{}}
		}
		*peers = snapshot.Peers{Pods: pods}
	case "test-always-fail":
		*peers = snapshot.Peers{}
	}
}

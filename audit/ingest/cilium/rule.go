package cilium

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// rule is one element of a section. The direction decides which peers it may name.
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
	ToFQDNs     []fqdnRule             `json:"toFQDNs"`
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

// rule returns the rules that an element of a section amounts to: one for each element of
// its toPorts, or none.
//
// An element that names neither peers nor ports decides nothing. One with ports only
// applies to all peers; one with an empty list of peers applies to none (PolicyEntry.L3 in
// pkg/policy/types/policyentry.go).
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
	case named.selectsNone():
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

// authenticate narrows the peers of a rule that requires mutual authentication. Agents
// prove the identity of the pods on their nodes to each other, and a pod needs no secret
// of its own, so the rule opens to every pod it names. Other peers have no identity to
// prove ("reserved identities are not compatible with authentication",
// pkg/auth/manager.go) and are denied.
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

// portRule is an element of toPorts.
type portRule struct {
	Ports          []portProtocol             `json:"ports"`
	Rules          map[string]json.RawMessage `json:"rules"`
	ServerNames    []string                   `json:"serverNames"`
	TerminatingTLS *struct{}                  `json:"terminatingTLS"`
	Listener       *struct{}                  `json:"listener"`
}

// portProtocol is a port, or a range of ports.
type portProtocol struct {
	Port     string `json:"port"`
	EndPort  int32  `json:"endPort"`
	Protocol string `json:"protocol"`
}

// rule returns a rule for the ports, without peers. Conditions that a proxy checks beyond
// the ports make it narrow, because the proxy may deny what the ports allow. A rule that
// denies has no such conditions.
//
// An element without ports applies to none (PolicyEntry.L4).
func (p *portRule) rule(d snapshot.Direction, action snapshot.Action) (snapshot.Rule, error) {
	rule := snapshot.Rule{Action: action}
	// A list that is null is absent (L7Rules.IsEmpty in pkg/policy/api/l7.go).
	sets := maps.Clone(p.Rules)
	maps.DeleteFunc(sets, func(_ string, list json.RawMessage) bool { return string(list) == "null" })
	layer7 := action == snapshot.Allow && len(sets) > 0
	_, dns := sets["dns"]
	rule.Narrow = layer7 ||
		action == snapshot.Allow && (len(p.ServerNames) > 0 || p.TerminatingTLS != nil || p.Listener != nil)
	// PortRule.Validate in pkg/policy/api/rule_validation.go.
	if layer7 && dns && d == snapshot.DirectionIngress {
		return rule, errors.New("DNS rules are allowed for egress only")
	}
	if action == snapshot.Allow && p.Listener != nil && d == snapshot.DirectionIngress {
		return rule, errors.New("a listener is allowed for egress only")
	}
	for _, port := range p.Ports {
		if layer7 && !dns && port.Protocol != string(snapshot.TCP) {
			return rule, errors.New("layer 7 rules other than DNS are allowed for TCP only")
		}
		if layer7 && port.Port == "0" {
			return rule, errors.New("layer 7 rules are allowed for single ports only")
		}
		if err := port.add(&rule.Ports); err != nil {
			return rule, err
		}
	}
	return rule, nil
}

// add adds the port to others. Port 0 means every port of its protocol, and a port without
// a protocol applies to each of them.
func (p *portProtocol) add(to *snapshot.Ports) error {
	protocols, err := protocolsOf(p.Protocol)
	if err != nil {
		return err
	}
	// A value with a letter is a service name, even if it could be a hexadecimal number.
	if strings.ContainsFunc(p.Port, unicode.IsLetter) {
		to.Named++
		return nil
	}
	number, err := strconv.ParseUint(p.Port, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q is neither a number nor a name", p.Port)
	}
	r := snapshot.PortRange{First: int32(number), Last: max(int32(number), p.EndPort)}
	if number == 0 {
		r.Last = snapshot.LastPort
	}
	for _, protocol := range protocols {
		r.Protocol = protocol
		to.Ranges = append(to.Ranges, r)
	}
	return nil
}

// protocolsOf returns the protocols with ports that a name means.
func protocolsOf(name string) ([]snapshot.Protocol, error) {
	switch strings.ToUpper(name) {
	case "", "ANY":
		return []snapshot.Protocol{snapshot.TCP, snapshot.UDP, snapshot.SCTP}, nil
	case "TCP", "UDP", "SCTP":
		return []snapshot.Protocol{snapshot.Protocol(strings.ToUpper(name))}, nil
	case "ICMP", "ICMPV6", "VRRP", "IGMP":
		return nil, nil
	}
	return nil, fmt.Errorf("unknown protocol %q", name)
}

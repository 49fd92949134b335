package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

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

// placing returns the tier and the priority of a policy of one kind.
type placing func(meta *snapshot.Meta, s *clusterSpec) (tier float64, priority *int32, err error)

func adminPlace(_ *snapshot.Meta, s *clusterSpec) (float64, *int32, error) {
	return snapshot.TierAdmin, s.Priority, nil
}

// baselinePlace: "Only one instance of BaselineAdminNetworkPolicy is allowed", the
// one called default. It has no priority.
func baselinePlace(meta *snapshot.Meta, _ *clusterSpec) (float64, *int32, error) {
	if meta.Name != "default" {
		return snapshot.TierBaseline, nil, errors.New("only the policy named default is in force")
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
	return snapshot.TierDefault, nil, fmt.Errorf("unknown tier %q", s.Tier)
}

// clusterPolicyFact returns the fact of an object. Of a policy that an API server would
// have rejected it keeps what was meant.
func (in *Ingester) clusterPolicyFact(meta snapshot.Meta, place placing, o *clusterPolicy) snapshot.Policy {
	p, err := in.clusterPolicy(meta, place, &o.Spec)
	if err != nil {
		return snapshot.Policy{Meta: p.Meta, Subject: p.Subject, Isolates: o.Spec.meant(), Invalid: err.Error()}
	}
	return p
}

// clusterPolicy returns the fact of a policy, or an error if it is invalid. These policies
// do not isolate: a connection that no rule matches goes on to the next tier, and is
// allowed after the last.
func (in *Ingester) clusterPolicy(meta snapshot.Meta, place placing, s *clusterSpec) (snapshot.Policy, error) {
	p := snapshot.Policy{Meta: meta}
	// The subject comes first: it is kept even if the rest is invalid.
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

// meant returns the directions in which the policy denies anything.
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
		return out, fmt.Errorf("unknown action %q", r.Action)
	}
	peers := r.From
	if d == snapshot.DirectionEgress {
		peers = r.To
	}
	if len(peers) == 0 {
		return out, errors.New("it has no peers")
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

// clusterPeer is a peer or a subject: one of its fields is set.
type clusterPeer struct {
	Namespaces *clusterSelector `json:"namespaces"`
	Pods       *struct {
		NamespaceSelector clusterSelector `json:"namespaceSelector"`
		PodSelector       clusterSelector `json:"podSelector"`
	} `json:"pods"`
	Networks []string `json:"networks"`

	fields int // set in the object, known or not
}

// setFields returns the fields of an object that are not null. A null is an absent field.
func setFields(data []byte) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	return all, nil
}

// UnmarshalJSON also counts the fields.
func (p *clusterPeer) UnmarshalJSON(data []byte) error {
	all, err := setFields(data)
	if err != nil {
		return err
	}
	type plain clusterPeer
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, (*plain)(p)); err != nil {
		return err
	}
	p.fields = len(all)
	return nil
}

// clusterSelector is a label selector. Early versions of the API had other fields beside
// the labels, such as namespaces that share a label with the subject.
type clusterSelector struct {
	labels  metav1.LabelSelector
	unknown bool // it has unsupported fields
}

// UnmarshalJSON also looks for unknown fields.
func (s *clusterSelector) UnmarshalJSON(data []byte) error {
	all, err := setFields(data)
	if err != nil {
		return err
	}
	if data, err = json.Marshal(all); err != nil {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(data, &s.labels)
	s.unknown = len(unknown) > 0
	return err
}

// errOneField is the API server's error for a peer or a subject with more or fewer fields.
var errOneField = errors.New("it must have exactly one field")

// clusterSubject returns the pods that a policy applies to. Pods in the network of their
// node are not among them.
func (in *Ingester) clusterSubject(p *clusterPeer) (snapshot.Subject, error) {
	if p.fields != 1 {
		return nil, errOneField
	}
	var peers snapshot.Peers
	err := in.clusterPeer(&peers, p)
	if err == nil && len(peers.Pods) == 0 {
		err = errors.New("it has no supported selector")
	}
	return peers.Pods, err
}

// clusterPeer adds a peer to others. Nodes and domain names are left out, because they
// never cover all pods or the internet, and so are unknown peers. By the API an
// implementation should deny everything for a peer that it does not know, but it cannot
// be seen whether it does.
func (in *Ingester) clusterPeer(to *snapshot.Peers, p *clusterPeer) error {
	if p.fields != 1 {
		return errOneField
	}
	switch {
	case p.Namespaces != nil:
		return in.clusterPods(to, p.Namespaces, &clusterSelector{})
	case p.Pods != nil:
		return in.clusterPods(to, &p.Pods.NamespaceSelector, &p.Pods.PodSelector)
	}
	for _, network := range p.Networks {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return fmt.Errorf("networks: %w", err)
		}
		to.CIDRs = append(to.CIDRs, snapshot.CIDR{Prefix: prefix.Masked()})
		// "Cluster-internal traffic will be checked against the rule as well."
		to.CIDRsMatchPods = true
	}
	return nil
}

func (in *Ingester) clusterPods(to *snapshot.Peers, namespaces, pods *clusterSelector) error {
	if namespaces.unknown || pods.unknown {
		return nil
	}
	var peer snapshot.PodPeer
	var err error
	if peer.Namespaces, err = in.selector(&namespaces.labels); err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}
	if peer.Pods, err = in.selector(&pods.labels); err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	to.Pods = append(to.Pods, peer)
	return nil
}

// clusterProtocol is a port as ClusterNetworkPolicy spells it since v1alpha2: one
// of its fields is set.
type clusterProtocol struct {
	TCP   *clusterDestination `json:"tcp"`
	UDP   *clusterDestination `json:"udp"`
	SCTP  *clusterDestination `json:"sctp"`
	Named string              `json:"destinationNamedPort"`
}

type clusterDestination struct {
	Port *struct {
		Number int32         `json:"number"`
		Range  *clusterRange `json:"range"`
	} `json:"destinationPort"`
}

// clusterPort is a port as it was spelled before: one of its fields is set.
type clusterPort struct {
	Number *struct {
		Protocol snapshot.Protocol `json:"protocol"`
		Port     int32             `json:"port"`
	} `json:"portNumber"`
	Range *clusterRange `json:"portRange"`
	Named string        `json:"namedPort"`
}

// clusterRange is an inclusive range of ports. Only the older spelling has the
// protocol here.
type clusterRange struct {
	Protocol snapshot.Protocol `json:"protocol"`
	Start    int32             `json:"start"`
	End      int32             `json:"end"`
}

var errNoPort = errors.New("a port must be a number, a range or a name")

// ports returns the ports of a rule, all of them if it names none.
func (r *clusterRule) ports() (snapshot.Ports, error) {
	var out snapshot.Ports
	if r.Protocols != nil && len(r.Protocols) == 0 || r.Ports != nil && len(r.Ports) == 0 {
		return out, errors.New("its list of ports is empty")
	}
	out.All = len(r.Protocols)+len(r.Ports) == 0
	for i := range r.Protocols {
		if err := r.Protocols[i].add(&out); err != nil {
			return out, err
		}
	}
	for i := range r.Ports {
		if err := r.Ports[i].add(&out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (p *clusterProtocol) add(to *snapshot.Ports) error {
	switch {
	case p.TCP != nil:
		return p.TCP.add(to, snapshot.TCP)
	case p.UDP != nil:
		return p.UDP.add(to, snapshot.UDP)
	case p.SCTP != nil:
		return p.SCTP.add(to, snapshot.SCTP)
	case p.Named != "":
		to.Named++
		return nil
	}
	return errNoPort
}

// add adds the ports of one protocol, all of them if none is named.
func (d *clusterDestination) add(to *snapshot.Ports, protocol snapshot.Protocol) error {
	switch {
	case d.Port == nil:
		return addRange(to, protocol, 1, snapshot.LastPort)
	case d.Port.Range != nil:
		return addRange(to, protocol, d.Port.Range.Start, d.Port.Range.End)
	}
	return addRange(to, protocol, d.Port.Number, d.Port.Number)
}

func (p *clusterPort) add(to *snapshot.Ports) error {
	switch {
	case p.Number != nil:
		return addRange(to, p.Number.Protocol, p.Number.Port, p.Number.Port)
	case p.Range != nil:
		return addRange(to, p.Range.Protocol, p.Range.Start, p.Range.End)
	case p.Named != "":
		to.Named++
		return nil
	}
	return errNoPort
}

// addRange adds a range of ports. The protocol defaults to TCP.
func addRange(to *snapshot.Ports, protocol snapshot.Protocol, first, last int32) error {
	switch protocol {
	case "":
		protocol = snapshot.TCP
	case snapshot.TCP, snapshot.UDP, snapshot.SCTP:
	default:
		return fmt.Errorf("unknown protocol %q", protocol)
	}
	if first < 1 || last > snapshot.LastPort || last < first {
		return fmt.Errorf("%d to %d is not a range of ports", first, last)
	}
	to.Ranges = append(to.Ranges, snapshot.PortRange{Protocol: protocol, First: first, Last: last})
	return nil
}

package cilium

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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

// rule returns a rule about the ports, its peers still to be named. What a proxy
// has to look at beyond them makes it narrow, since the proxy may turn away what
// the ports let in. A rule that denies has no such conditions.
//
// An element without ports is about none (PolicyEntry.L4).
func (p *portRule) rule(d snapshot.Direction, action snapshot.Action) (snapshot.Rule, error) {
	rule := snapshot.Rule{Action: action}
	layer7 := action == snapshot.Allow && len(p.Rules) > 0
	_, dns := p.Rules["dns"]
	rule.Narrow = layer7 ||
		action == snapshot.Allow && (len(p.ServerNames) > 0 || p.TerminatingTLS != nil || p.Listener != nil)
	// PortRule.Validate in pkg/policy/api/rule_validation.go.
	if layer7 && dns && d == snapshot.DirectionIngress {
		return rule, errors.New("rules of DNS are for egress only")
	}
	if action == snapshot.Allow && p.Listener != nil && d == snapshot.DirectionIngress {
		return rule, errors.New("a listener is for egress only")
	}
	for _, port := range p.Ports {
		if layer7 && !dns && port.Protocol != string(snapshot.TCP) {
			return rule, errors.New("rules of layer 7 other than DNS are for TCP only")
		}
		if layer7 && port.Port == "0" {
			return rule, errors.New("rules of layer 7 are for single ports only")
		}
		if err := port.add(&rule.Ports); err != nil {
			return rule, err
		}
	}
	return rule, nil
}

// add adds the port to others. Port 0 stands for every port of its protocol, and
// a port without a protocol is one of each.
func (p *portProtocol) add(to *snapshot.Ports) error {
	protocols, err := protocolsOf(p.Protocol)
	if err != nil {
		return err
	}
	// What looks like a service name is one, even if it could be read as a
	// hexadecimal number.
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

// protocolsOf returns the protocols with ports that a name stands for.
func protocolsOf(name string) ([]snapshot.Protocol, error) {
	switch strings.ToUpper(name) {
	case "", "ANY":
		return []snapshot.Protocol{snapshot.TCP, snapshot.UDP, snapshot.SCTP}, nil
	case "TCP", "UDP", "SCTP":
		return []snapshot.Protocol{snapshot.Protocol(strings.ToUpper(name))}, nil
	case "ICMP", "ICMPV6", "VRRP", "IGMP":
		return nil, nil
	}
	return nil, fmt.Errorf("there is no protocol %q", name)
}

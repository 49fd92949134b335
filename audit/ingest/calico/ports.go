package calico

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ports adds the protocol and the ports of a rule. The ports of a connection are those of
// the destination, whichever end the policy's pods are.
func (r *rule) ports(out *ruleDraft) error {
	protocols, every, err := r.protocols()
	if err != nil {
		return err
	}
	to, err := parsePorts(r.Destination.Ports, r.Destination.NotPorts)
	if err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	from, err := parsePorts(r.Source.Ports, r.Source.NotPorts)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if (to.numbered || from.numbered) && !r.protocolHasPorts() {
		return errors.New("ports need the protocol TCP, UDP or SCTP")
	}
	// A rule that allows all but a few ports opens the pod like one that allows all: the
	// exceptions are typically ports known to be dangerous, not those that serve.
	if out.rule.Action != snapshot.Deny && len(r.Destination.Ports) == 0 && to.excepted <= fewPorts {
		to.spans = []portSpan{{0, snapshot.LastPort}}
	}
	if out.rule.Ports.All = every && !to.given(); !out.rule.Ports.All {
		for _, protocol := range protocols {
			for _, span := range to.spans {
				out.rule.Ports.Ranges = append(out.rule.Ports.Ranges,
					snapshot.PortRange{Protocol: protocol, First: span.first, Last: span.last})
			}
		}
		out.rule.Ports.Named = to.names
	}
	if to.notNames > 0 {
		out.doubt() // the number of the excepted port is not known
	}
	switch {
	case !from.given():
	case from.clients():
		// A client chooses its own port: it can use one that is allowed, and avoid one
		// that is denied.
		out.doubt()
	default:
		out.rule.Narrow = true
	}
	return nil
}

// protocols returns the protocols with ports that the rule applies to, and whether it
// applies to every protocol.
func (r *rule) protocols() (list []snapshot.Protocol, every bool, err error) {
	only, err := parseProtocol(r.Protocol)
	if err != nil {
		return nil, false, fmt.Errorf("protocol: %w", err)
	}
	not, err := parseProtocol(r.NotProtocol)
	if err != nil {
		return nil, false, fmt.Errorf("notProtocol: %w", err)
	}
	for _, p := range []snapshot.Protocol{snapshot.TCP, snapshot.UDP, snapshot.SCTP} {
		if (r.Protocol == nil || p == only) && p != not {
			list = append(list, p)
		}
	}
	return list, r.Protocol == nil && r.NotProtocol == nil, nil
}

func (r *rule) protocolHasPorts() bool {
	only, err := parseProtocol(r.Protocol)
	return err == nil && only != ""
}

// parseProtocol returns the protocol of a name or number, or the empty string for nil and
// for protocols without ports. Older clients wrote names in lower case.
func parseProtocol(p *intstr.IntOrString) (snapshot.Protocol, error) {
	if p == nil {
		return "", nil
	}
	switch name := strings.ToUpper(p.String()); name {
	case "TCP", "6":
		return snapshot.TCP, nil
	case "UDP", "17":
		return snapshot.UDP, nil
	case "SCTP", "132":
		return snapshot.SCTP, nil
	case "ICMP", "ICMPV6", "UDPLITE":
		return "", nil
	default:
		if n, err := strconv.Atoi(name); err != nil || n < 1 || n > 255 {
			return "", fmt.Errorf("unknown protocol %q", p.String())
		}
		return "", nil
	}
}

// portSet holds the ports that a rule names at one end.
type portSet struct {
	spans           []portSpan // ports given by number, without the exceptions; all if none is named
	names, notNames int        // ports and exceptions given by name
	numbered        bool       // a port or an exception is given by number
	excepted        int        // upper bound of the number of ports excepted by number
}

// fewPorts is a number of ports that a rule can except and still count as open.
const fewPorts = snapshot.LastPort / 16

// portSpan is an inclusive range of ports.
type portSpan struct{ first, last int32 }

func parsePorts(ports, exceptions []intstr.IntOrString) (portSet, error) {
	var out portSet
	if len(ports) == 0 {
		out.spans = []portSpan{{0, snapshot.LastPort}}
	}
	for _, p := range ports {
		span, named, err := parsePort(p)
		switch {
		case err != nil:
			return out, err
		case named:
			out.names++
		default:
			out.numbered = true
			out.spans = append(out.spans, span)
		}
	}
	for _, p := range exceptions {
		span, named, err := parsePort(p)
		switch {
		case err != nil:
			return out, err
		case named:
			out.notNames++
		default:
			out.numbered = true
			out.excepted += int(span.last-span.first) + 1
			out.spans = span.cutFrom(out.spans)
		}
	}
	return out, nil
}

// parsePort parses a number, a range such as "1:100", or a name.
func parsePort(p intstr.IntOrString) (span portSpan, named bool, err error) {
	text := p.String()
	if strings.Trim(text, "0123456789:") != "" {
		return portSpan{}, true, nil
	}
	low, high, isRange := strings.Cut(text, ":")
	if !isRange {
		high = low
	}
	first, err1 := strconv.ParseUint(low, 10, 16)
	last, err2 := strconv.ParseUint(high, 10, 16)
	if err1 != nil || err2 != nil || first > last {
		return portSpan{}, false, fmt.Errorf("%q is not a port", text)
	}
	return portSpan{int32(first), int32(last)}, false, nil
}

// cutFrom returns the ranges without the ports in s.
func (s portSpan) cutFrom(spans []portSpan) []portSpan {
	var out []portSpan
	for _, o := range spans {
		if left := (portSpan{o.first, min(o.last, s.first-1)}); left.first <= left.last {
			out = append(out, left)
		}
		if right := (portSpan{max(o.first, s.last+1), o.last}); right.first <= right.last {
			out = append(out, right)
		}
	}
	return out
}

// given reports whether any port is named or excepted.
func (p *portSet) given() bool { return p.numbered || p.names+p.notNames > 0 }

// clients reports whether the ports include those that clients connect from: by default
// 32768 to 60999 on Linux, and fewer by RFC 6335.
func (p *portSet) clients() bool {
	for _, s := range p.spans {
		if s.first <= 32768 && s.last >= 60999 {
			return true
		}
	}
	return false
}

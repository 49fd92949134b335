package calico

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// portSet are the ports that one end of a rule names.
type portSet struct {
	spans           []portSpan // those with numbers, less the exceptions; all if none is named
	names, notNames int        // ports and exceptions given by name
	numbered        bool       // a port or an exception is given by number
	excepted        int        // how many ports the exceptions with numbers come to, at most
}

// fewPorts are so few ports that it makes no difference to leave them out.
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
		return portSpan{}, false, fmt.Errorf("%q is no port", text)
	}
	return portSpan{int32(first), int32(last)}, false, nil
}

// cutFrom returns the ranges without the ports of s.
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

// clients reports whether the ports hold those that clients connect from: by
// default 32768 to 60999 with Linux, and fewer by RFC 6335.
func (p *portSet) clients() bool {
	for _, s := range p.spans {
		if s.first <= 32768 && s.last >= 60999 {
			return true
		}
	}
	return false
}

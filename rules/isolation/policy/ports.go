package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ports is a set of port numbers of one protocol: sorted inclusive ranges that are
// not adjacent. Sets are shared and never modified.
type ports []portSpan

type portSpan struct{ first, last int32 }

// allPorts is every port there is.
func allPorts() ports { return ports{{1, snapshot.LastPort}} }

// all reports whether the set holds every port.
func (p ports) all() bool { return len(p) == 1 && p[0].first <= 1 && p[0].last >= snapshot.LastPort }

// few reports whether the set is so small that it can be ignored, and nearlyAll
// whether what it leaves out is.
func (p ports) few() bool { return few(p.count(), snapshot.LastPort) }

func (p ports) nearlyAll() bool { return few(snapshot.LastPort-p.count(), snapshot.LastPort) }

func (p ports) count() int {
	n := 0
	for _, s := range p {
		n += int(s.last-s.first) + 1
	}
	return n
}

// plus returns the union.
func (p ports) plus(q ports) ports {
	switch {
	case p.all() || len(q) == 0:
		return p
	case q.all() || len(p) == 0:
		return q
	}
	list := slices.Concat(p, q)
	slices.SortFunc(list, func(a, b portSpan) int { return int(a.first - b.first) })
	var out ports
	for _, s := range list {
		if n := len(out); n > 0 && s.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, s.last)
			continue
		}
		out = append(out, s)
	}
	return out
}

// minus returns what is in p and not in q.
func (p ports) minus(q ports) ports {
	if len(p) == 0 || q.all() {
		return nil
	}
	out := p
	for _, cut := range q {
		var left ports
		for _, s := range out {
			if cut.last < s.first || cut.first > s.last {
				left = append(left, s)
				continue
			}
			if s.first < cut.first {
				left = append(left, portSpan{s.first, cut.first - 1})
			}
			if s.last > cut.last {
				left = append(left, portSpan{cut.last + 1, s.last})
			}
		}
		out = left
	}
	return out
}

// and returns what is in both.
func (p ports) and(q ports) ports {
	switch {
	case p.all() || len(q) == 0:
		return q
	case q.all() || len(p) == 0:
		return p
	}
	return p.minus(p.minus(q))
}

// portsOf returns the ports of a rule in one protocol.
func portsOf(p snapshot.Ports, protocol snapshot.Protocol) ports {
	if p.All {
		return allPorts()
	}
	var out ports
	for _, r := range p.Ranges {
		if r.Protocol == protocol && r.First <= r.Last {
			out = out.plus(ports{{max(r.First, 1), min(r.Last, snapshot.LastPort)}})
		}
	}
	return out
}

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/e2e/bench/estate"
)

// result is what was measured on one estate.
type result struct {
	size       estate.Size
	reading    []row // the two floors, the sweep, judging
	publishing []row // the sweep that reads only, the one that publishes
	open       int   // findings while publishing was measured
}

type row struct {
	name    string
	costs   costs
	traffic *traffic
}

// page is what is printed.
type page struct {
	at      time.Time
	machine string
	rounds  int
	results []*result
}

func (p *page) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What a sweep costs\n\nWritten by `make bench` on %s.\n\nMachine: %s. The API server, etcd and what is measured share it.\n\n",
		p.at.Format("2006-01-02 15:04 UTC"), p.machine)
	fmt.Fprintf(&b, "The floor is a small program that reads the same kinds with Kubernetes' typed client, in protobuf and\n"+
		"pages of 500, and keeps nothing. All runs are interleaved, %d rounds; figures are medians, times in brackets\n"+
		"the shortest and the longest. Seconds and megabytes are those of a machine that may be busy: what holds is the\n"+
		"ratios. Requests and bytes (bodies of answers, compressed as they were sent) are counted in a run of their own.\n", p.rounds)
	for i, r := range p.results {
		// Ratios have their targets on the first estate; those of the large one are
		// about how it grows.
		r.write(&b, i == 0)
	}
	if len(p.results) > 1 {
		p.growth(&b)
	}
	return b.String()
}

func (r *result) write(b *strings.Builder, held bool) {
	target := func(most float64) float64 {
		if !held {
			return 0
		}
		return most
	}
	s := r.size
	fmt.Fprintf(b, "\n## %d objects: %d Namespaces, %d Ingresses, %d Deployments, %d Pods, %d NetworkPolicies\n\n",
		s.Objects(), s.Namespaces, s.Ingresses, s.Deployments, s.Pods, s.Policies)
	table(b, r.reading)
	floor, side, sweep, judge := r.reading[0], r.reading[1], r.reading[2], r.reading[3]
	f, m := floor.costs.median(), sweep.costs.median()
	ratio(b, "wall time, sweep to floor", float64(m.Wall)/float64(f.Wall), target(1.3))
	ratio(b, "wall time, sweep to the floor that reads side by side", float64(m.Wall)/float64(side.costs.median().Wall), 0)
	ratio(b, "CPU time, sweep to floor", float64(m.CPU)/float64(f.CPU), target(1.5))
	ratio(b, "peak memory, sweep to floor", float64(m.Peak)/float64(f.Peak), target(1.7))
	ratio(b, "judging and reconcile, part of the sweep's wall time", float64(judge.costs.median().Wall)/float64(m.Wall), target(0.1))
	fmt.Fprintf(b, "- the sweep's requests that the floor does not make: %s\n", orNone(sweep.traffic.beside(floor.traffic)))
	if len(r.publishing) == 0 {
		return
	}
	fmt.Fprintf(b, "\nWith %d findings open, of which nothing changes:\n\n", r.open)
	table(b, r.publishing)
	only, publishing := r.publishing[0].costs.median(), r.publishing[1].costs.median()
	ratio(b, "wall time, publishing to reading only", float64(publishing.Wall)/float64(only.Wall), 1.3)
	ratio(b, "CPU time, publishing to reading only", float64(publishing.CPU)/float64(only.CPU), 1.3)
	fmt.Fprintf(b, "- requests that reading only does not make: %s\n",
		orNone(r.publishing[1].traffic.beside(r.publishing[0].traffic)))
}

func table(b *strings.Builder, rows []row) {
	b.WriteString("| | wall | CPU | peak memory | requests | bytes |\n|---|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		m := r.costs.median()
		first, last := r.costs.walls()
		fmt.Fprintf(b, "| %s | %.3f s (%.3f to %.3f) |", r.name, m.Wall.Seconds(), first.Seconds(), last.Seconds())
		if m.Peak == 0 {
			b.WriteString(" | | | |\n")
			continue
		}
		fmt.Fprintf(b, " %.3f s | %.1f MB | %d | %.2f MB |\n",
			m.CPU.Seconds(), float64(m.Peak)/1e6, r.traffic.total(), float64(r.traffic.bytes)/1e6)
	}
	b.WriteString("\n")
}

// ratio writes a ratio with its target, zero for none.
func ratio(b *strings.Builder, what string, is, most float64) {
	fmt.Fprintf(b, "- %s: %.2f", what, is)
	switch {
	case most == 0:
	case is > most:
		fmt.Fprintf(b, " (target %.2f, **missed**)", most)
	default:
		fmt.Fprintf(b, " (target %.2f)", most)
	}
	b.WriteString("\n")
}

// growth writes what becomes of the time for one object from the first estate to the
// last.
func (p *page) growth(b *strings.Builder) {
	first, last := p.results[0], p.results[len(p.results)-1]
	each := func(r *result, i int) float64 {
		return float64(r.reading[i].costs.median().Wall.Microseconds()) / float64(r.size.Objects())
	}
	b.WriteString("\n## From the small estate to the large one\n\n")
	fmt.Fprintf(b, "- time for one object: floor %.1f µs, then %.1f; sweep %.1f µs, then %.1f\n", each(first, 0), each(last, 0), each(first, 2), each(last, 2))
	ratio(b, "the sweep's time for one object, large to small", each(last, 2)/each(first, 2), 1.15)
	ratio(b, "the floor's, for comparison: the mix of kinds is another", each(last, 0)/each(first, 0), 0)
	ratio(b, "peak memory of the sweep on the large one, in MB", float64(last.reading[2].costs.median().Peak)/1e6, 250)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

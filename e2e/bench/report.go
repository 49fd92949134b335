package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/e2e/bench/estate"
)

// result holds the figures of one estate.
type result struct {
	size       estate.Size
	reading    []row // two floors, sweep, evaluation
	publishing []row // sweep, publishing sweep
	open       int   // number of open findings while publishing
}

type row struct {
	name    string
	costs   costs
	traffic *traffic
}

// report is the text that is printed.
type report struct {
	at      time.Time
	machine string
	rounds  int
	results []*result
}

func (p *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmark\n\n`make bench` measured these figures on %s.\n\nMachine: %s. The API server, etcd and the measured programs share it.\n\n",
		p.at.Format("2006-01-02 15:04 UTC"), p.machine)
	fmt.Fprintf(&b, "The floor is a small program that reads the same kinds with the typed client of client-go, in protobuf and\n"+
		"pages of 500, and discards them. The runs are interleaved, %d rounds of each program. Figures are medians, with\n"+
		"the shortest and the longest wall time in parentheses. Seconds and megabytes depend on the machine and its load;\n"+
		"compare the ratios. Requests and bytes (compressed response bodies) are counted in a separate run.\n", p.rounds)
	for i, r := range p.results {
		// The targets of the ratios apply to the first estate; those of the large
		// one are about growth.
		r.write(&b, i == 0)
	}
	if len(p.results) > 1 {
		p.growth(&b)
	}
	return b.String()
}

func (r *result) write(b *strings.Builder, withTargets bool) {
	target := func(limit float64) float64 {
		if !withTargets {
			return 0
		}
		return limit
	}
	s := r.size
	fmt.Fprintf(b, "\n## %d objects: %d Namespaces, %d Ingresses, %d Deployments, %d Pods, %d NetworkPolicies\n\n",
		s.Objects(), s.Namespaces, s.Ingresses, s.Deployments, s.Pods, s.Policies)
	table(b, r.reading)
	floor, parallel, sweep, evaluate := r.reading[0], r.reading[1], r.reading[2], r.reading[3]
	f, m := floor.costs.median(), sweep.costs.median()
	ratio(b, "wall time, sweep to floor", float64(m.Wall)/float64(f.Wall), target(1.3))
	ratio(b, "wall time, sweep to parallel floor", float64(m.Wall)/float64(parallel.costs.median().Wall), 0)
	ratio(b, "CPU time, sweep to floor", float64(m.CPU)/float64(f.CPU), target(1.5))
	ratio(b, "peak memory, sweep to floor", float64(m.Peak)/float64(f.Peak), target(1.7))
	ratio(b, "evaluate and reconcile, share of the wall time of the sweep", float64(evaluate.costs.median().Wall)/float64(m.Wall), target(0.1))
	fmt.Fprintf(b, "- requests of the sweep compared with the floor: %s\n", orNone(sweep.traffic.difference(floor.traffic)))
	if len(r.publishing) == 0 {
		return
	}
	fmt.Fprintf(b, "\nWith %d open findings, none of which changes:\n\n", r.open)
	table(b, r.publishing)
	reading, publishing := r.publishing[0].costs.median(), r.publishing[1].costs.median()
	ratio(b, "wall time, publishing sweep to sweep", float64(publishing.Wall)/float64(reading.Wall), 1.3)
	ratio(b, "CPU time, publishing sweep to sweep", float64(publishing.CPU)/float64(reading.CPU), 1.3)
	fmt.Fprintf(b, "- requests of the publishing sweep compared with the sweep: %s\n",
		orNone(r.publishing[1].traffic.difference(r.publishing[0].traffic)))
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

// ratio writes a ratio with its target, if it is not zero.
func ratio(b *strings.Builder, what string, value, target float64) {
	fmt.Fprintf(b, "- %s: %.2f", what, value)
	switch {
	case target == 0:
	case value > target:
		fmt.Fprintf(b, " (target %.2f, **missed**)", target)
	default:
		fmt.Fprintf(b, " (target %.2f)", target)
	}
	b.WriteString("\n")
}

// growth compares the time per object and the memory of the first and the last
// estate.
func (p *report) growth(b *strings.Builder) {
	first, last := p.results[0], p.results[len(p.results)-1]
	each := func(r *result, i int) float64 {
		return float64(r.reading[i].costs.median().Wall.Microseconds()) / float64(r.size.Objects())
	}
	b.WriteString("\n## Growth from the small to the large estate\n\n")
	fmt.Fprintf(b, "- time per object: floor %.1f µs small, %.1f µs large; sweep %.1f µs small, %.1f µs large\n", each(first, 0), each(last, 0), each(first, 2), each(last, 2))
	ratio(b, "time per object of the sweep, large to small", each(last, 2)/each(first, 2), 1.15)
	ratio(b, "time per object of the floor, large to small (for comparison; the mix of kinds differs)", each(last, 0)/each(first, 0), 0)
	ratio(b, "peak memory of the sweep on the large estate, in MB", float64(last.reading[2].costs.median().Peak)/1e6, 250)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// describeMachine returns the hardware, the system and the load.
func describeMachine() string {
	parts := []string{fmt.Sprintf("%d processors", runtime.NumCPU())}
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		parts[0] += " (" + model + ")"
	}
	if total := field("/proc/meminfo", "MemTotal"); total != "" {
		parts = append(parts, total+" of memory")
	}
	parts = append(parts, runtime.GOOS+"/"+runtime.GOARCH, runtime.Version())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		parts = append(parts, "load average before the start "+strings.Join(strings.Fields(string(load))[:3], " "))
	}
	return strings.Join(parts, ", ")
}

// field returns the value of a "name: value" line of a file under /proc, or the empty
// string.
func field(path, name string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

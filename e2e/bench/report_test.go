package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/e2e/bench/estate"
)

// took returns the costs of three rounds; wall and megabytes are the medians.
func took(wall time.Duration, megabytes int64) costs {
	one := cost{Wall: wall, CPU: wall / 2, Peak: megabytes * 1e6}
	slow := cost{Wall: 9 * wall, CPU: wall, Peak: 2 * one.Peak}
	return costs{slow, one, {Wall: wall / 2, CPU: wall / 4, Peak: one.Peak / 2}}
}

func TestReportMarksMissedTargets(t *testing.T) {
	asked := func(requests ...string) *traffic {
		counted := &traffic{requests: map[string]int{}, bytes: 2e6}
		for _, r := range requests {
			counted.requests[r]++
		}
		return counted
	}
	p := report{rounds: 3, results: []*result{{
		size: estate.Default(),
		reading: []row{
			{"floor", took(time.Second, 40), asked("GET /a", "GET /a")},
			{"floor, in parallel", took(800*time.Millisecond, 50), asked("GET /a", "GET /a")},
			{"sweep", took(1200*time.Millisecond, 80), asked("GET /a", "GET /apis")},
			{"evaluate and reconcile", costs{{Wall: 60 * time.Millisecond}}, asked()},
		},
	}}}
	text := p.text()
	for _, want := range []string{
		"| sweep | 1.200 s (0.600 to 10.800) | 0.600 s | 80.0 MB | 2 | 2.00 MB |\n",
		"wall time, sweep to floor: 1.20 (target 1.30)\n",
		"sweep to parallel floor: 1.50\n",
		"peak memory, sweep to floor: 2.00 (target 1.70, **missed**)\n",
		"share of the wall time of the sweep: 0.05 (target 0.10)\n",
		"compared with the floor: -1 GET /a, +1 GET /apis\n",
		"17020 objects: 1000 Namespaces, 10050 Ingresses",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestParseRejects(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-rounds 0", "must be at least 1, not 0"},
		{"-policies 1001", "1001 policies need as many namespaces, not 1000"},
		{"-contested 9000", "9000 of 10050 ingresses can't claim hosts of others"},
		{"-pods -1", "negative number of objects"},
		{"-namespaces 5 -policies 1", "20 namespaces"},
	} {
		if _, err := parse(strings.Fields(c.args), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
	o, err := parse([]string{"-large", "-pods", "7"}, io.Discard)
	if err != nil || len(o.sizes) != 2 || o.sizes[0].Pods != 7 || o.sizes[1] != estate.Large() {
		t.Errorf("sizes %+v: %v", o, err)
	}
}

func TestInParallelStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	err := inParallel(t.Context(), 10_000, func(i int) error {
		if i == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

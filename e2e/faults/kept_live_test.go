package faults

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestLawsHoldInRunsThatBrokeThem plays the runs that are kept. Each broke a law once,
// or would without one of the defences.
func TestLawsHoldInRunsThatBrokeThem(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("find runs: %v", err)
	}
	l := newLab(t)
	sum := totals{faults: map[string]int{}}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			r, err := readRun(path)
			if err != nil {
				t.Fatal(err)
			}
			was := sum.disturbed
			l.run(t, &r.plan, r.api, r.slack, &sum)
			if sum.disturbed == was {
				t.Error("none of its faults came about")
			}
		})
	}
}

package faults

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// fewSeeds is how many runs a test makes that is not asked for more.
const fewSeeds = "30"

// TestLawsHoldThroughFaults plays runs by chance, each by the seed that is its
// number. AUDIT_FAULT_SEEDS says how many, AUDIT_FAULT_SEED with which to begin.
func TestLawsHoldThroughFaults(t *testing.T) {
	l := newLab(t)
	first := number(t, cmp.Or(os.Getenv("AUDIT_FAULT_SEED"), "1"))
	seeds := number(t, cmp.Or(os.Getenv("AUDIT_FAULT_SEEDS"), fewSeeds))
	sum := totals{faults: map[string]int{}}
	broken := 0
	for seed := first; seed < first+seeds; seed++ {
		ok := t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			p := newPlan(seed)
			api, slack := p.faults(seed)
			l.run(t, p, api, slack, &sum)
		})
		if !ok {
			broken++
		}
	}
	t.Logf("%d runs of %d broke a law\n%s", broken, seeds, &sum)
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

package main

import "runtime/debug"

// gcPercent is by how much of what is in use memory may grow before it is collected.
//
// A sweep piles up facts and drops next to nothing of them before it ends, so Go's
// default of 100 would have a pod pay for twice its facts. At 30 the peak is a tenth
// lower than at 50, and reading still takes less CPU than the typed clients take;
// at 25 a sweep that publishes begins to feel it. BENCH.md has the figures.
const gcPercent = 30

// spareMemory sets how eagerly memory is collected, unless the environment does.
func spareMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

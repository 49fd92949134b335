package main

import "runtime/debug"

// gcPercent is by how much of what is in use memory may grow before it is collected.
//
// A sweep piles up facts and drops next to nothing of them before it ends, so Go's
// default of 100 would have a pod pay for twice its facts. At half of that it needs
// a quarter less memory for a tenth more CPU.
const gcPercent = 50

// spareMemory sets how eagerly memory is collected, unless the environment does.
func spareMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

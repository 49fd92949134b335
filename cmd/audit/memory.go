package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// A sweep piles up facts and drops next to nothing of them before it ends, so Go's
// default, to let the heap double before it is collected, would have a pod pay for
// twice its facts. A share alone, though, has a small heap collected over and over:
// at 30 percent that was a third of all CPU. So the heap may grow by a share of what
// is in use, or by some MiB where that is more. BENCH.md has the figures.
const (
	leastPercent = 30
	headroom     = 8 << 20 // bytes
	smallestHeap = 4 << 20 // bytes, as the first collection takes it, whatever is in use
)

// spareMemory sets how eagerly memory is collected, unless the environment does, until
// it is stopped.
func spareMemory(getenv func(string) string) (stop func()) {
	if getenv("GOGC") != "" {
		return func() {}
	}
	var stopped atomic.Bool
	percent := percentAt(smallestHeap)
	debug.SetGCPercent(percent)
	afterCollection(percent, &stopped)
	return func() { stopped.Store(true) }
}

// afterCollection sets the share anew after the next collection, and so on.
func afterCollection(percent int, stopped *atomic.Bool) {
	// Nothing refers to it: it is collected the next time anything is.
	mark := new([64]byte)
	runtime.AddCleanup(mark, func(was int) {
		if stopped.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		is := was
		if live[0].Value.Kind() == metrics.KindUint64 {
			is = percentAt(live[0].Value.Uint64())
		}
		if is != was {
			debug.SetGCPercent(is)
		}
		afterCollection(is, stopped)
	}, percent)
}

// percentAt returns by how many percent a heap may grow of which so many bytes are
// in use.
func percentAt(live uint64) int {
	return max(leastPercent, int(headroom*100/max(live, smallestHeap)))
}

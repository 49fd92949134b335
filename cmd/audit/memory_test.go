package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestHowMuchAHeapMayGrow(t *testing.T) {
	for _, c := range []struct {
		says    string
		live    uint64
		percent int
	}{
		{"an empty heap has the headroom", 0, 200},
		{"so has a small one", 16 << 20, 50},
		{"one that is about as much as the share allows has the share", 27 << 20, 30},
		{"a large one grows by the share", 100 << 20, 30},
	} {
		if got := percentAt(c.live); got != c.percent {
			t.Errorf("%s: %d percent, want %d", c.says, got, c.percent)
		}
	}
}

// What is in use decides after each collection anew.
func TestCollectionFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	set := func() int {
		is := debug.SetGCPercent(100)
		debug.SetGCPercent(is)
		return is
	}
	stop := spareMemory(func(string) string { return "" })
	defer stop()
	if got := set(); got != 200 {
		t.Errorf("at first it is %d percent", got)
	}
	held := make([]byte, 200<<20)
	for deadline := time.Now().Add(time.Minute); set() != leastPercent; {
		if time.Now().After(deadline) {
			t.Fatalf("with 200 MiB in use it stays at %d percent", set())
		}
		runtime.GC()
	}
	runtime.KeepAlive(held)
}

package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// ending is how long a command may take to end when a signal comes. Most are
// abandoned; one that serves has something to give back first.
type ending struct{ nanoseconds atomic.Int64 }

// allow lets the command end in order, within the given time.
func (e *ending) allow(grace time.Duration) { e.nanoseconds.Store(int64(grace)) }

// grace returns how long the command may take, and whether it ends in order.
func (e *ending) grace() (time.Duration, bool) {
	if n := e.nanoseconds.Load(); n > 0 {
		return time.Duration(n), true
	}
	return endGrace, false
}

// end waits until the command that was told to end has done so, and returns the
// exit code. A second signal ends it at once: whoever asks twice will not wait.
//
// A service that ends in order when it is told to terminate has not failed, and
// exits with 0. Somebody who interrupts it by hand gets the code that shells
// expect.
func (c command) end(sig os.Signal, done <-chan error) int {
	code := exitSignal
	if s, ok := sig.(syscall.Signal); ok {
		code += int(s)
	}
	grace, inOrder := c.ending.grace()
	inTime := false
	var err error
	select {
	case err = <-done:
		inTime = true
	case <-c.signals:
	case <-time.After(grace):
	}
	switch {
	case !inOrder:
		fmt.Fprintf(c.err, "audit: ended by %s; nothing is reported\n", sig)
	case !inTime:
		fmt.Fprintf(c.err, "audit: ended by %s; what was under way is cut\n", sig)
	case err != nil: // it ended of itself just then
		return c.exit(err)
	case sig == syscall.SIGTERM:
		return 0
	}
	return code
}

// Command audit sweeps a Kubernetes cluster for broken cross-object invariants.
package main

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // quiet hours have time zones, and an image from scratch has none

	// The image has no folder of certificates. Where the system has none, the binary's
	// copy of the roots that Mozilla trusts counts.
	_ "golang.org/x/crypto/x509roots/fallback"
)

func main() {
	// By default the heap doubles between two collections. The benchmark's target for
	// peak memory (docs/benchmark.md) allows less, and its target for CPU leaves room.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(30)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(command{
		path: os.Args[0], args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr,
		getenv: os.Getenv, now: time.Now, signals: signals,
	}))
}

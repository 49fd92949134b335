// Command audit sweeps a Kubernetes cluster for broken cross-object invariants.
package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // quiet hours have time zones, and an image from scratch has none
)

func main() {
	spareMemory(os.Getenv)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(command{
		args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr,
		getenv: os.Getenv, now: time.Now, signals: signals,
	}))
}

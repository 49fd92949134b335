// Command bench measures what a sweep costs on a real API server, beside what
// reading the same objects costs at least.
//
//	bench -audit PATH -floor PATH -launch PATH [-large] [-page FILE]
//
// All runs are in one go and interleaved, so that what counts, the ratio of
// medians, holds for a machine that does other things, too. `make bench` builds
// the programs and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/eventuallytrue/audit/e2e/bench/estate"
)

// options are the flags.
type options struct {
	audit, floor, launch string // paths of the programs
	definitions          string // file of the custom kind that findings are
	sizes                []estate.Size
	rounds               int
	open                 int    // findings while publishing
	page                 string // path, empty for none
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = o.bench(ctx, os.Stdout, os.Stderr, time.Now)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	size, large := estate.Default(), false
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.audit, "audit", "bin/audit", "the built program")
	f.StringVar(&o.floor, "floor", "bin/floor", "the program that reads alone")
	f.StringVar(&o.launch, "launch", "bin/launch", "the program that measures another")
	f.StringVar(&o.definitions, "definitions", "audit/api/v1alpha1/eventuallytrue.dev_findings.yaml", "definition of findings")
	f.BoolVar(&large, "large", false, "measure an estate of ten times the size, too, with pods")
	f.IntVar(&o.rounds, "rounds", 5, "how often each program is measured")
	f.IntVar(&o.open, "open", 1000, "how many findings are open while publishing is measured; 0 measures none")
	f.StringVar(&o.page, "page", "", "file to write the page to, too")
	f.IntVar(&size.Namespaces, "namespaces", size.Namespaces, "number of Namespaces")
	f.IntVar(&size.Ingresses, "ingresses", size.Ingresses, "number of Ingresses")
	f.IntVar(&size.Contested, "contested", size.Contested, "of these, those that claim a host of another team")
	f.IntVar(&size.Deployments, "deployments", size.Deployments, "number of Deployments")
	f.IntVar(&size.Pods, "pods", size.Pods, "number of Pods")
	f.IntVar(&size.Policies, "policies", size.Policies, "number of NetworkPolicies, each in a Namespace of its own")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if err := size.Check(); err != nil {
		return nil, err
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds: %d rounds measure nothing", o.rounds)
	}
	o.sizes = []estate.Size{size}
	if large {
		o.sizes = append(o.sizes, estate.Large())
	}
	return o, nil
}

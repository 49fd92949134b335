// Command bench measures the cost of a sweep on a real API server and compares it with
// the minimal cost of reading the same objects.
//
//	bench -audit PATH -floor PATH -launch PATH [-large] [-page FILE]
//
// All runs are interleaved, so that the ratios of the medians hold even on a machine
// under load. `make bench` builds the programs and runs the benchmark.
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

// options are the values of the flags.
type options struct {
	audit, floor, launch string // paths of the programs
	definitions          string // file with the CustomResourceDefinition of findings
	sizes                []estate.Size
	rounds               int
	open                 int    // number of open findings while publishing
	page                 string // path of the report, empty for none
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
	f.StringVar(&o.audit, "audit", "bin/audit", "path of audit")
	f.StringVar(&o.floor, "floor", "bin/floor", "path of the program that only reads")
	f.StringVar(&o.launch, "launch", "bin/launch", "path of the program that measures another one")
	f.StringVar(&o.definitions, "definitions", "audit/api/v1alpha1/eventuallytrue.dev_findings.yaml", "file with the CustomResourceDefinition of findings")
	f.BoolVar(&large, "large", false, "also measure an estate of ten times the size, with pods")
	f.IntVar(&o.rounds, "rounds", 5, "number of measured runs of each program")
	f.IntVar(&o.open, "open", 1000, "number of open findings while publishing is measured; 0 skips publishing")
	f.StringVar(&o.page, "page", "", "also write the report to this file")
	f.IntVar(&size.Namespaces, "namespaces", size.Namespaces, "number of Namespaces")
	f.IntVar(&size.Ingresses, "ingresses", size.Ingresses, "number of Ingresses")
	f.IntVar(&size.Contested, "contested", size.Contested, "number of Ingresses that claim a host of another team")
	f.IntVar(&size.Deployments, "deployments", size.Deployments, "number of Deployments")
	f.IntVar(&size.Pods, "pods", size.Pods, "number of Pods")
	f.IntVar(&size.Policies, "policies", size.Policies, "number of NetworkPolicies, each in its own Namespace")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if err := size.Check(); err != nil {
		return nil, err
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds: must be at least 1, not %d", o.rounds)
	}
	o.sizes = []estate.Size{size}
	if large {
		o.sizes = append(o.sizes, estate.Large())
	}
	return o, nil
}

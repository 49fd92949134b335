package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// sweepOptions are the flags of a sweep, and what is made of them.
type sweepOptions struct {
	command

	once       bool
	from       []string
	output     string
	configPath string
	ruleNames  []string
	namespaces []string
	failOn     string
	timeout    time.Duration
	since      string
	publishing publishOptions
	serving    serveOptions
	recorded   usage // of the API, by those who recorded Events
	connection *genericclioptions.ConfigFlags

	format    report.Format
	set       []*rules.Rule
	config    config.Config
	threshold rules.Severity // zero: findings do not fail
	source    audit.Source
	previous  *audit.Previous
}

func (o *sweepOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.once, "once", false, "sweep once and print the report")
	flags.StringArrayVar(&o.ruleNames, "rule", nil, "judge by this rule only (repeatable)")
	flags.StringSliceVarP(&o.namespaces, "namespace", "n", nil,
		"show only what concerns this namespace (repeatable); all are read, since the other claimant of a host is elsewhere")
	flags.StringVar(&o.failOn, "fail-on", "low", "exit 1 on findings of this severity or above: none, low, medium or high")
	flags.StringVar(&o.since, "previous", "",
		"report of an earlier sweep, as -o json or yaml printed it: findings keep the time they were first seen, and causes may tell more")
	o.publishing.addFlags(flags)
	o.serving.addFlags(flags)
	o.addReadingFlags(flags)
}

// addReadingFlags adds the flags of whatever reads objects and prints something.
func (o *sweepOptions) addReadingFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.from, "from", nil,
		"read manifests from a file, a folder or - instead of a cluster (repeatable)")
	flags.StringVarP(&o.output, "output", "o", "table", "how to print: table, wide, json or yaml")
	flags.StringVar(&o.configPath, "config", "", "config file; the defaults hold without one")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long reading may take; what is not read by then is unknown")

	// The connection flags are kubectl's, but for -n, which narrows here what
	// is shown, and the cache of a discovery that is not made.
	o.connection = genericclioptions.NewConfigFlags(true)
	o.connection.Namespace, o.connection.CacheDir = nil, nil
	o.connection.AddFlags(flags)
}

// publishFor is how long it may take to store findings and to tell owners.
const publishFor = 10 * time.Minute

// run sweeps and prints the report.
func (o *sweepOptions) run(ctx context.Context) error {
	// What is read has a time of its own: publishing begins with all of its.
	whole, cancel := context.WithTimeoutCause(ctx, 2*o.timeout+o.publishing.leaseWait+publishFor, context.DeadlineExceeded)
	defer cancel()
	done := o.progress()
	res, err := o.sweep(whole)
	done()
	var usage *exitError
	if errors.As(err, &usage) {
		return usage
	}
	if err != nil && res == nil {
		return &exitError{exitIncomplete, fmt.Errorf("sweep: %w", err)}
	}
	unpublished := err
	res.ReportOnly = o.silence(res)
	if err := o.checkNamespaces(res); err != nil {
		return err
	}
	audit.Filter(res, o.namespaces)
	// Once the program was told to end, no report may appear any more.
	if ctx.Err() != nil {
		return &exitError{exitIncomplete, context.Cause(ctx)}
	}
	if err := report.Write(o.out, o.format, res, report.OptionsFor(o.out, o.getenv)); err != nil {
		return &exitError{exitIncomplete, err}
	}
	switch worst := res.Worst(); {
	case unpublished != nil:
		return &exitError{exitIncomplete, unpublished}
	case !res.Complete():
		return &exitError{code: exitIncomplete}
	// Whoever asks for a code to go by must not be told that all is well.
	case o.threshold > 0 && res.NotEvaluated() > 0:
		return &exitError{code: exitIncomplete}
	case o.threshold > 0 && worst >= o.threshold:
		return &exitError{code: exitFindings}
	}
	return nil
}

// sweep sweeps, and publishes if it is asked to. With an error there may be a
// result all the same, which was not published.
func (o *sweepOptions) sweep(ctx context.Context) (*audit.Result, error) {
	if o.publishing.publish {
		return o.sweepAndPublish(ctx)
	}
	return audit.Sweep(ctx, timed{o.source, o.timeout}, o.set, &o.config, o.now, o.previous)
}

// checkNamespaces refuses a namespace that does not exist: of a name that was
// mistyped a report would say that all is well. Where it is not known which there
// are, the report says so itself.
func (o *sweepOptions) checkNamespaces(res *audit.Result) error {
	for _, read := range res.Reads {
		if read.Kind == snapshot.Namespaces && !read.Status.Known() {
			return nil
		}
	}
	for _, name := range o.namespaces {
		if !slices.Contains(res.Namespaces, name) {
			return &exitError{exitUsage, fmt.Errorf("--namespace: there is no namespace %q in %s", name, o.config.Cluster)}
		}
	}
	return nil
}

// connectionFlags are the names of the flags that lead to a cluster.
func (o *sweepOptions) connectionFlags() []string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.connection.AddFlags(set)
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	slices.Sort(names)
	return names
}

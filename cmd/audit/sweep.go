package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
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
	flags.StringArrayVar(&o.from, "from", nil,
		"read manifests from a file, a folder or - instead of a cluster (repeatable)")
	flags.StringVarP(&o.output, "output", "o", "table", "how to print: table, wide, json or yaml")
	flags.StringVar(&o.configPath, "config", "", "config file; the defaults hold without one")
	flags.StringArrayVar(&o.ruleNames, "rule", nil, "judge by this rule only (repeatable)")
	flags.StringSliceVarP(&o.namespaces, "namespace", "n", nil,
		"show only what concerns this namespace (repeatable); all are read, since the other claimant of a host is elsewhere")
	flags.StringVar(&o.failOn, "fail-on", "low", "exit 1 on findings of this severity or above: none, low, medium or high")
	flags.StringVar(&o.since, "previous", "",
		"report of an earlier sweep, as -o json or yaml printed it: findings keep the time they were first seen, and causes may tell more")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long reading may take; what is not read by then is unknown")

	// The connection flags are kubectl's, but for -n, which narrows here what
	// is shown, and the cache of a discovery that is not made.
	o.connection = genericclioptions.NewConfigFlags(true)
	o.connection.Namespace, o.connection.CacheDir = nil, nil
	o.connection.AddFlags(flags)
}

// complete checks the flags and the config, and makes the source. Every error
// is one of usage: nothing was read yet.
func (o *sweepOptions) complete(cmd *cobra.Command) error {
	if !o.once {
		return errors.New("sweeping continuously is not built in yet: add --once")
	}
	var err error
	if o.format, err = report.ParseFormat(o.output); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if o.threshold, err = parseFailOn(o.failOn); err != nil {
		return err
	}
	if o.timeout <= 0 {
		return fmt.Errorf("--timeout: %s is not more than nothing", o.timeout)
	}
	if err := o.loadConfig(); err != nil {
		return err
	}
	if o.set, err = o.enabledRules(); err != nil {
		return fmt.Errorf("--rule: %w", err)
	}
	if err := o.openSource(cmd.Flags()); err != nil {
		return err
	}
	return o.readPrevious()
}

// readPrevious reads the report of an earlier sweep, if one is given.
func (o *sweepOptions) readPrevious() error {
	o.previous = &audit.Previous{}
	if o.since == "" {
		return nil
	}
	f, err := os.Open(o.since)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("read previous report: %w", err)}
	}
	defer f.Close() // nothing was written that could be lost
	earlier, err := report.Read(f)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--previous %s: %w", o.since, err)}
	}
	if earlier.Cluster != o.config.Cluster {
		return &exitError{exitUsage, fmt.Errorf("--previous %s: it is of cluster %q, and this sweep is of %q", o.since, earlier.Cluster, o.config.Cluster)}
	}
	o.previous = earlier.Previous()
	return nil
}

func parseFailOn(word string) (rules.Severity, error) {
	if word == "none" {
		return 0, nil
	}
	var s rules.Severity
	if err := s.UnmarshalText([]byte(word)); err != nil {
		return 0, fmt.Errorf("--fail-on: %q is none of none, low, medium, high", word)
	}
	return s, nil
}

// loadConfig reads the config. Somebody who looks by hand is told of expired
// exceptions at once and mends them; a sweep that nobody watches goes on
// without them.
func (o *sweepOptions) loadConfig() error {
	o.config = config.Default()
	if o.configPath == "" {
		return nil
	}
	c, err := config.Read(o.configPath, rules.All())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var errs []error
	for _, e := range c.Expired(o.now()) {
		errs = append(errs, e)
	}
	if err := errors.Join(errs...); err != nil {
		return &exitError{exitUsage, err}
	}
	o.config = c
	return nil
}

// enabledRules returns the rules that are asked for and not switched off.
func (o *sweepOptions) enabledRules() ([]*rules.Rule, error) {
	set, err := selectRules(o.ruleNames)
	if err != nil {
		return nil, err
	}
	var enabled []*rules.Rule
	var off []string
	for _, r := range set {
		if o.config.Settings(r).Enabled {
			enabled = append(enabled, r)
		} else {
			off = append(off, r.Name)
		}
	}
	if len(o.ruleNames) > 0 && len(off) > 0 {
		return nil, fmt.Errorf("%s is switched off in %s", strings.Join(off, ", "), o.configPath)
	}
	return enabled, nil
}

// run sweeps and prints the report.
func (o *sweepOptions) run(ctx context.Context) error {
	reading, cancel := context.WithTimeoutCause(ctx, o.timeout, context.DeadlineExceeded)
	defer cancel()
	done := o.progress()
	res, err := audit.SweepAfter(reading, o.previous, o.source, o.set, &o.config, o.now)
	done()
	if err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("sweep: %w", err)}
	}
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
	case !res.Complete():
		return &exitError{code: exitIncomplete}
	case o.threshold > 0 && worst >= o.threshold:
		return &exitError{code: exitFindings}
	}
	return nil
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

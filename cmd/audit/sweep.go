package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/audit/remedy"
	"github.com/eventuallytrue/audit/cmd/audit/serve"
	"github.com/eventuallytrue/audit/notify/html"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// sweepOptions are the flags of a sweep, and the values made from them.
type sweepOptions struct {
	publishOptions
	show showOptions

	once         bool
	ruleNames    []string
	namespaces   []string
	failOn       string
	previousPath string

	interval, grace time.Duration
	jitter          time.Duration
	listen          string

	set       []*rules.Rule
	threshold rules.Severity // zero: findings do not fail
	previous  *audit.Previous
	layout    report.Options
}

func (o *sweepOptions) addFlags(flags *pflag.FlagSet) {
	o.publishOptions.addFlags(flags)
	flags.BoolVar(&o.once, "once", false, "Sweep once and print the report")
	flags.StringArrayVar(&o.ruleNames, "rule", nil, "Evaluate only this rule. Can be repeated")
	flags.StringSliceVarP(&o.namespaces, "namespace", "n", nil,
		"Show only findings that involve this namespace. Can be repeated. All namespaces are read, because the other claimant of a host may be in another namespace")
	flags.StringVar(&o.failOn, "fail-on", "low", "Exit with code 1 on findings of at least this severity. One of: none, low, medium, high")
	o.show.addFlags(flags)
	flags.StringVar(&o.previousPath, "previous", "",
		"Report of an earlier sweep, printed with -o json or -o yaml. Findings keep the time when they were first seen, and causes have more evidence")
	flags.DurationVar(&o.interval, "interval", 10*time.Minute, "Without --once: time between the starts of two sweeps, varied by up to 10%")
	flags.DurationVar(&o.jitter, "jitter", 0,
		"With --once: wait a random time of at most this before the sweep. Otherwise: how early or late a sweep may come, at most --interval. Nobody can then tell when the next sweep reads")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", `Without --once: address that serves /healthz, /readyz and /metrics; :8080 for all interfaces. "" disables the server`)
	flags.DurationVar(&o.grace, "grace", 20*time.Second, "Without --once: maximum time for a graceful shutdown")
}

// complete checks the flags and the config, and opens the source. Every error is one
// of usage: nothing was read yet.
func (o *sweepOptions) complete(flags *pflag.FlagSet) error {
	if err := o.checkMode(flags); err != nil {
		return err
	}
	if err := o.checkFlags(); err != nil {
		return err
	}
	var err error
	if o.threshold, err = parseFailOn(o.failOn); err != nil {
		return err
	}
	if o.layout, err = o.show.complete(o.command, o.out); err != nil {
		return err
	}
	for _, name := range showFlags() {
		if o.format == report.HTML && flags.Changed(name) {
			return fmt.Errorf("--%s cannot be used with -o html: the page has filters of its own", name)
		}
	}
	if o.dryRun && !(o.once && o.publish) {
		return errors.New("--dry-run requires --once --publish")
	}
	if o.publish {
		if err := o.checkPublish(flags); err != nil {
			return err
		}
		if !flags.Changed("fail-on") {
			o.threshold = 0
		}
	}
	if err := o.readConfig(); err != nil {
		return err
	}
	// A user who runs a sweep manually can remove expired exceptions at once; an
	// unattended sweep goes on without them.
	if o.once && !o.publish {
		var errs []error
		for _, e := range o.config.Expired(o.now()) {
			errs = append(errs, e)
		}
		if err := errors.Join(errs...); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	if o.set, err = o.enabledRules(o.ruleNames); err != nil {
		return fmt.Errorf("--rule: %w", err)
	}
	if err := o.openSource(flags); err != nil {
		return err
	}
	return o.readPrevious()
}

// checkMode rejects flags that do not apply with, or without, --once.
func (o *sweepOptions) checkMode(flags *pflag.FlagSet) error {
	if flags.Changed("leader-elect") && !o.publish {
		return errors.New("--leader-elect requires --publish")
	}
	if o.jitter < 0 {
		return fmt.Errorf("--jitter: must not be negative, got %s", o.jitter)
	}
	if o.once {
		for _, name := range []string{"interval", "listen", "grace"} {
			if flags.Changed(name) {
				return fmt.Errorf("--%s cannot be used with --once", name)
			}
		}
		return nil
	}
	if o.jitter > o.interval {
		return fmt.Errorf("--jitter: must not exceed --interval, got %s", o.jitter)
	}
	once := append(showFlags(), "from", "namespace", "rule", "previous", "output", "fail-on", "lease-wait")
	for _, name := range once {
		if flags.Changed(name) {
			return fmt.Errorf("--%s requires --once", name)
		}
	}
	if err := positive("interval", o.interval); err != nil {
		return err
	}
	return positive("grace", o.grace)
}

func parseFailOn(word string) (rules.Severity, error) {
	if word == "none" {
		return 0, nil
	}
	var s rules.Severity
	if err := s.UnmarshalText([]byte(word)); err != nil {
		return 0, fmt.Errorf("--fail-on: invalid severity %q, must be one of: none, low, medium, high", word)
	}
	return s, nil
}

// readPrevious reads the report of an earlier sweep, if one is given.
func (o *sweepOptions) readPrevious() error {
	o.previous = &audit.Previous{}
	if o.previousPath == "" {
		return nil
	}
	earlier, err := readReport(o.previousPath)
	if err != nil {
		return err
	}
	if earlier.Cluster != o.config.Cluster {
		return &exitError{exitUsage, fmt.Errorf("--previous %s: the report is of cluster %q, but this sweep is of %q", o.previousPath, earlier.Cluster, o.config.Cluster)}
	}
	o.previous = earlier.Previous()
	return nil
}

// publishFor is how long storing findings and notifying owners may take.
const publishFor = 10 * time.Minute

// jittered returns a random time of at most the given one.
func jittered(most time.Duration, random func() float64) time.Duration {
	return time.Duration(float64(most) * random())
}

// run sweeps once and prints the report.
func (o *sweepOptions) run(ctx context.Context) error {
	kube.Sleep(ctx, jittered(o.jitter, rand.Float64))
	// Reading has a limit of its own, which leaves publishing all of its time.
	whole, cancel := context.WithTimeoutCause(ctx, 2*o.timeout+o.lease.wait+publishFor, context.DeadlineExceeded)
	defer cancel()
	done := o.progress()
	res, err := o.result(whole)
	done()
	var usage *exitError
	if errors.As(err, &usage) {
		return usage
	}
	if err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("sweep: %w", err)}
	}
	res.ReportOnly = reportOnlyOf(&o.config, res, o.now())
	if err := o.checkNamespaces(res); err != nil {
		return err
	}
	audit.Filter(res, o.namespaces)
	// Code 0 would claim that everything was evaluated.
	res.MustEvaluate = o.threshold > 0
	// After a signal no report may be printed.
	if ctx.Err() != nil {
		return &exitError{exitIncomplete, context.Cause(ctx)}
	}
	if err := o.write(res); err != nil {
		return &exitError{exitIncomplete, err}
	}
	switch failures := res.Failures(); {
	case len(failures) > 0:
		return &exitError{exitIncomplete, unpublished(failures)}
	case o.threshold > 0 && res.Worst() >= o.threshold:
		return &exitError{code: exitFindings}
	}
	return nil
}

// write prints the report.
func (o *sweepOptions) write(res *audit.Result) error {
	switch o.format {
	case report.HTML:
		setFixes(res, &o.config)
		return html.Write(o.out, res)
	case report.JSON, report.YAML:
		setFixes(res, &o.config)
	}
	return report.Write(o.out, o.format, res, o.layout)
}

// setFixes sets what would end each finding.
func setFixes(res *audit.Result, c *config.Config) {
	fixes := remedy.Find(res, c.Owners.Keys[0])
	for i := range res.Findings {
		res.Findings[i].Fix = fixes[res.Findings[i].ID]
	}
}

// unpublished returns the failures that a user should see who does not read the report:
// those of everything but reading and evaluating. It is nil if there are none.
func unpublished(failures []audit.Failure) error {
	const most = 10 // where a right is missing, all lines say the same
	rest := slices.DeleteFunc(failures, func(f audit.Failure) bool {
		return f.Stage == audit.StageRead || f.Stage == audit.StageEvaluate
	})
	if len(rest) == 0 {
		return nil
	}
	return errors.New(strings.Join(serve.ByStage(rest, most, "\n"), "\n"))
}

// result sweeps, and publishes if that was requested. An error means that there is no
// result.
func (o *sweepOptions) result(ctx context.Context) (*audit.Result, error) {
	if o.publish {
		if !o.dryRun {
			o.stopping.finish(o.grace) // what is being sent when a signal comes is recorded
		}
		return o.sweepOnce(ctx, o.set)
	}
	return audit.Sweep(ctx, o.reading(), o.set, &o.config, o.now, o.previous)
}

// checkNamespaces rejects a namespace that does not exist: for a mistyped name, the
// report would be empty. Where namespaces are unknown, the report says so.
func (o *sweepOptions) checkNamespaces(res *audit.Result) error {
	for _, read := range res.Reads {
		if read.Kind == snapshot.Namespaces && !read.Status.Known() {
			return nil
		}
	}
	for _, name := range o.namespaces {
		if !slices.Contains(res.Namespaces, name) {
			return o.noNamespace(name)
		}
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// complete checks the flags and the config, and makes the source. Every error
// is one of usage: nothing was read yet.
func (o *sweepOptions) complete(cmd *cobra.Command) error {
	if err := o.completeMode(cmd.Flags()); err != nil {
		return err
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
	if o.publishing.dryRun && !(o.once && o.publishing.publish) {
		return fmt.Errorf("--dry-run has no meaning but with --once --publish")
	}
	if o.publishing.publish {
		if err := o.completePublish(cmd.Flags()); err != nil {
			return err
		}
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
	c, err := config.Read(o.configPath, catalog.All())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var errs []error
	for _, e := range c.Expired(o.now()) {
		errs = append(errs, e)
	}
	if err := errors.Join(errs...); err != nil && !o.publishing.publish {
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

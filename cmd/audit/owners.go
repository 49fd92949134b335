package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func newOwners(c command) *cobra.Command {
	o := &sweepOptions{command: c}
	cmd := &cobra.Command{
		Use:   "owners [--from PATH]... [flags]",
		Short: "Tell who owns each namespace, why, and where they are told",
		Long: `owners reads Namespaces and says of each who owns it, which claim or key decided
that, and where in Slack the owner is told. It tells nobody.

Exit codes: 0 everything was read; 2 wrong usage or config, nothing was read;
3 something could not be read.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.completeOwners(cmd); err != nil {
				return err
			}
			return o.printOwners(cmd.Context())
		},
	}
	o.addReadingFlags(cmd.Flags())
	cmd.Flags().StringSliceVarP(&o.namespaces, "namespace", "n", nil, "show only this namespace (repeatable)")
	return cmd
}

func (o *sweepOptions) completeOwners(cmd *cobra.Command) error {
	var err error
	if o.format, err = report.ParseFormat(o.output); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if o.timeout <= 0 {
		return fmt.Errorf("--timeout: %s is not more than nothing", o.timeout)
	}
	o.config = config.Default()
	if o.configPath != "" {
		// An exception that has expired changes nothing here.
		if o.config, err = config.Read(o.configPath, catalog.All()); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	return o.openSource(cmd.Flags())
}

// printOwners reads what there is of namespaces and prints who owns them.
func (o *sweepOptions) printOwners(ctx context.Context) error {
	reading, cancel := context.WithTimeoutCause(ctx, o.timeout, context.DeadlineExceeded)
	defer cancel()
	kinds := []snapshot.Kind{snapshot.Namespaces}
	if len(o.from) > 0 {
		// Manifests often leave the Namespace to somebody else, and the config may
		// claim it by its name all the same.
		kinds = audit.Needs(catalog.All())
	}
	done := o.progress()
	var b snapshot.Builder
	met, err := o.source.Read(reading, kinds, &b)
	done()
	if err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("read namespaces: %w", err)}
	}
	snap := b.Freeze()
	incomplete := unreadOf(snap, met)
	all := audit.Ownership(snap, &o.config)
	naming := audit.ChannelNamespaces(all)
	owners, err := o.narrowed(all, incomplete != nil)
	if err != nil {
		return err
	}
	places := make([]audit.Destination, len(owners))
	for i, n := range owners {
		if by, ok := naming[n.Owner]; ok {
			n = by
		}
		places[i] = o.placeOf(n)
	}
	if len(owners) == 0 && incomplete != nil {
		return &exitError{exitIncomplete, incomplete} // "no namespaces" is more than is known
	}
	if err := writeOwners(o.out, o.format, o.config.Cluster, owners, places); err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("print owners: %w", err)}
	}
	if incomplete != nil {
		return &exitError{exitIncomplete, incomplete}
	}
	return nil
}

// reportOnly stands for the place of a team that is told nothing.
const reportOnly audit.DestinationSource = "reportOnly"

// placeOf returns where the owner of a namespace is told, which is to be the one
// by which it has a channel.
func (o *sweepOptions) placeOf(n audit.NamespaceOwner) audit.Destination {
	silent := func(owner string) bool {
		team := o.config.Owners.Team(owner)
		return team != nil && team.ReportOnly
	}
	to := audit.DestinationOf(n, &o.config)
	if silent(n.Owner) || to.From == audit.FromFallback && silent(o.config.Owners.Fallback) {
		return audit.Destination{From: reportOnly}
	}
	return to
}

// narrowed returns the rows that the flags ask for. A name that was mistyped must
// not look like a namespace of nobody, unless not all of them are known.
func (o *sweepOptions) narrowed(owners []audit.NamespaceOwner, incomplete bool) ([]audit.NamespaceOwner, error) {
	if len(o.namespaces) == 0 {
		return owners, nil
	}
	owners = slices.DeleteFunc(owners, func(n audit.NamespaceOwner) bool { return !slices.Contains(o.namespaces, n.Namespace) })
	for _, name := range o.namespaces {
		there := slices.ContainsFunc(owners, func(n audit.NamespaceOwner) bool { return n.Namespace == name })
		if !there && !incomplete {
			return nil, &exitError{exitUsage, fmt.Errorf("--namespace: there is no namespace %q in %s", name, o.config.Cluster)}
		}
	}
	return owners, nil
}

// unreadOf returns what could not be read, an error for each.
func unreadOf(snap *snapshot.Snapshot, met audit.Reading) error {
	var errs []error
	for _, read := range snap.Reads() {
		if !read.Status.Known() {
			errs = append(errs, fmt.Errorf("read %s: %s: %s", read.Kind, read.Status, read.Err))
		}
	}
	for _, p := range met.Problems {
		errs = append(errs, fmt.Errorf("read %s: %s", p.Where, p.Reason))
	}
	return errors.Join(errs...)
}

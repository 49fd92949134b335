package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ownersOptions are the flags of the owners command.
type ownersOptions struct {
	readOptions
	namespaces []string
}

func newOwners(c command) *cobra.Command {
	o := &ownersOptions{readOptions: readOptions{command: c}}
	cmd := &cobra.Command{
		Use:   "owners [--from PATH]... [flags]",
		Short: "Show the owner of each namespace",
		Long: `Show the owner of each namespace, the config entry or the key that decided it, and
the Slack channel in which the owner is notified. The command sends no messages.

Exit codes:

  0  all namespaces were read
  2  the usage or the config is invalid; nothing was read
  3  something could not be read`,
		Example: `  # Show the owners of all namespaces in the cluster of the current context
  audit owners --config audit.yaml

  # Show the owner of one namespace in manifests
  audit owners --from manifests/ -n shop`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.open(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringSliceVarP(&o.namespaces, "namespace", "n", nil, "Show only this namespace. Can be repeated")
	return cmd
}

// run reads namespaces and prints their owners.
func (o *ownersOptions) run(ctx context.Context) error {
	kinds := []snapshot.Kind{snapshot.Namespaces}
	if len(o.from) > 0 {
		// Manifests often do not include the Namespace of their objects, and the config
		// may still claim it by name.
		kinds = audit.Needs(catalog.All())
	}
	snap, met, err := o.read(ctx, kinds...)
	if err != nil {
		return err
	}
	incomplete := unreadOf(snap, met)
	all := audit.Ownership(snap, &o.config)
	naming := audit.ChannelNamespaces(all)
	owners, err := o.selected(all, incomplete != nil)
	if err != nil {
		return err
	}
	destinations := make([]audit.Destination, len(owners))
	for i, n := range owners {
		if by, ok := naming[n.Owner]; ok {
			n = by
		}
		destinations[i] = o.destinationOf(n)
	}
	if len(owners) == 0 && incomplete != nil {
		return &exitError{exitIncomplete, incomplete} // "No namespaces" would claim too much
	}
	if err := writeOwners(o.out, o.format, o.config.Cluster, owners, destinations); err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("print owners: %w", err)}
	}
	if incomplete != nil {
		return &exitError{exitIncomplete, incomplete}
	}
	return nil
}

// reportOnly is the destination of a team that is never notified.
const reportOnly audit.DestinationSource = "reportOnly"

// destinationOf returns where the owner of a namespace is notified. The namespace must
// be the one that decides the owner's channel.
func (o *ownersOptions) destinationOf(n audit.NamespaceOwner) audit.Destination {
	muted := func(owner string) bool {
		team := o.config.Owners.Team(owner)
		return team != nil && team.ReportOnly
	}
	to := audit.DestinationOf(n, &o.config)
	if muted(n.Owner) || to.From == audit.FromFallback && muted(o.config.Owners.Fallback) {
		return audit.Destination{From: reportOnly}
	}
	return to
}

// selected returns the rows for the namespaces that the flags select. A mistyped name
// must not look like a namespace without an owner, so a name that does not exist is an
// error if all namespaces are known.
func (o *ownersOptions) selected(owners []audit.NamespaceOwner, incomplete bool) ([]audit.NamespaceOwner, error) {
	if len(o.namespaces) == 0 {
		return owners, nil
	}
	owners = slices.DeleteFunc(owners, func(n audit.NamespaceOwner) bool { return !slices.Contains(o.namespaces, n.Namespace) })
	for _, name := range o.namespaces {
		there := slices.ContainsFunc(owners, func(n audit.NamespaceOwner) bool { return n.Namespace == name })
		if !there && !incomplete {
			return nil, o.noNamespace(name)
		}
	}
	return owners, nil
}

// unreadOf returns an error for each kind and each input that could not be read.
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

// writeOwners prints owners and their destinations, as a table for people or as a list
// for programs.
func writeOwners(w io.Writer, format report.Format, cluster string, owners []audit.NamespaceOwner, destinations []audit.Destination) error {
	if format == report.JSON || format == report.YAML {
		return report.WriteOwners(w, format, cluster, owners, destinations)
	}
	if len(owners) == 0 {
		_, err := fmt.Fprintln(w, "No namespaces found")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"NAMESPACE", "OWNER", "DECIDED BY", "SLACK CHANNEL"}
	if format == report.Wide {
		head = append(head, "SHARED", "CHANNEL ANNOTATION")
	}
	fmt.Fprintln(tab, strings.Join(head, "\t"))
	for i, o := range owners {
		row := []string{o.Namespace, ownerCell(o), reasonCell(o), destinationCell(destinations[i])}
		if format == report.Wide {
			row = append(row, sharedCell(o), channelCell(o))
		}
		for j := range row {
			row[j] = report.Cell(row[j])
		}
		fmt.Fprintln(tab, strings.Join(row, "\t"))
	}
	return tab.Flush()
}

func ownerCell(o audit.NamespaceOwner) string {
	if o.By == audit.ByNone {
		return "no owner"
	}
	return o.Owner
}

func reasonCell(o audit.NamespaceOwner) string {
	switch {
	case o.By == audit.ByFallback:
		return "fallback owner"
	case o.By == audit.ByNone:
		return "no team claims it and no owner key is set"
	case o.Registry:
		return "claimed by " + o.By
	}
	return o.By
}

func destinationCell(d audit.Destination) string {
	to := d.Channel
	if d.WebhookFile != "" {
		to = "webhook in " + d.WebhookFile
	}
	switch d.From {
	case audit.FromNone:
		return "none"
	case reportOnly:
		return "none (report only)"
	case audit.FromAnnotation:
		return to + " (Namespace annotation)"
	case audit.FromFallback:
		return to + " (fallback owner)"
	}
	return to
}

func sharedCell(o audit.NamespaceOwner) string {
	if o.Shared {
		return "yes"
	}
	return "no"
}

func channelCell(o audit.NamespaceOwner) string {
	switch {
	case o.Channel == "":
		return "none"
	case !o.Allowed:
		return o.Channel + " (not allowed)"
	}
	return o.Channel
}

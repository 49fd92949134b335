package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
)

// findingsOptions are the flags of the findings command.
type findingsOptions struct {
	command
	namespace  string
	output     string
	owners     []string
	rules      []string
	states     []string
	connection *genericclioptions.ConfigFlags
}

func newFindings(c command) *cobra.Command {
	o := &findingsOptions{command: c, connection: newConnection()}
	cmd := &cobra.Command{
		Use:   "findings [flags]",
		Short: "List the findings stored in the cluster",
		Long: `List the findings that a sweep with --publish stored in the cluster.

Exit codes:

  0  all findings are listed
  2  the usage is invalid
  3  the findings could not be read, or some cannot be shown`,
		Example: `  # List all findings
  audit findings

  # List the open findings of one team, with messages
  audit findings --owner team-a --state Open -o wide`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	addFindingsNamespace(flags, &o.namespace)
	flags.StringVarP(&o.output, "output", "o", "table", "Output format. One of: table, wide, json, yaml")
	flags.StringArrayVar(&o.owners, "owner", nil, "List only findings of this owner. Can be repeated")
	flags.StringArrayVar(&o.rules, "rule", nil, "List only findings of this rule. Can be repeated")
	flags.StringArrayVar(&o.states, "state", nil, "List only findings in this state. One of: Pending, Open, Resolved. Can be repeated")
	o.connection.AddFlags(flags)
	return cmd
}

func (o *findingsOptions) run(ctx context.Context) error {
	format, err := report.ParseFormat(o.output)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	for _, s := range o.states {
		if !slices.Contains([]string{string(audit.StatePending), string(audit.StateOpen), string(audit.StateResolved)}, s) {
			return fmt.Errorf("--state: invalid state %q, must be one of: Pending, Open, Resolved", s)
		}
	}
	if err := checkFindingsNamespace(o.namespace); err != nil {
		return err
	}
	cfg, err := restConfig(o.connection)
	if err != nil {
		return err
	}
	opened, err := store.New(cfg, o.namespace, store.Options{UserAgent: userAgent()})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	stored, newer, err := opened.Load(ctx)
	if err != nil {
		return &exitError{exitIncomplete, err}
	}
	all := len(stored)
	stored = slices.DeleteFunc(stored, func(s audit.Stored) bool { return s.Incomplete })
	incomplete := all - len(stored)
	// An API server lists nothing in a namespace that does not exist either: the name
	// in the message shows a typo.
	none := "No findings in namespace " + o.namespace
	if len(stored) > 0 {
		none = fmt.Sprintf("None of the %d findings in namespace %s match", len(stored), o.namespace)
	}
	stored = slices.DeleteFunc(stored, func(s audit.Stored) bool { return !o.wants(&s) })
	if err := printFindings(o.out, format, stored, none, o.now()); err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("print findings: %w", err)}
	}
	return unshown(newer, incomplete)
}

// unshown returns an error that lists the findings that exist but are not shown.
func unshown(newer []string, incomplete int) error {
	var errs []error
	if len(newer) > 0 {
		errs = append(errs, errors.New("a newer version of audit wrote these findings, which are not shown: "+strings.Join(newer, ", ")))
	}
	if incomplete > 0 {
		errs = append(errs, fmt.Errorf("findings without a status, which are not shown: %d; their publisher was interrupted, or has no right to update findings/status", incomplete))
	}
	if err := errors.Join(errs...); err != nil {
		return &exitError{exitIncomplete, err}
	}
	return nil
}

func (o *findingsOptions) wants(s *audit.Stored) bool {
	owned := slices.ContainsFunc(s.Owners, func(owner string) bool { return slices.Contains(o.owners, owner) })
	return (len(o.owners) == 0 || owned) &&
		(len(o.rules) == 0 || slices.Contains(o.rules, s.Rule)) &&
		(len(o.states) == 0 || slices.Contains(o.states, string(s.State)))
}

// printFindings prints findings as a table, or in the format that a report has for
// them. Without findings, the table is the given message.
func printFindings(w io.Writer, format report.Format, stored []audit.Stored, none string, now time.Time) error {
	if format == report.JSON || format == report.YAML {
		records := make([]audit.Record, len(stored))
		for i := range stored {
			records[i] = stored[i].Record
		}
		return report.WriteRecords(w, format, records)
	}
	if len(stored) == 0 {
		_, err := fmt.Fprintln(w, none)
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := "RULE\tSUBJECT\tOWNER\tSEVERITY\tSTATE\tAGE"
	if format == report.Wide {
		head += "\tMESSAGE"
	}
	fmt.Fprintln(tab, head)
	for i := range stored {
		s := &stored[i]
		row := []string{
			s.Rule, s.Subject.String(), strings.Join(s.Owners, ", "), s.Severity.String(), string(s.State),
			rules.Age(now.Sub(s.FirstSeen)),
		}
		for j := range row {
			row[j] = report.Cell(row[j])
		}
		if format == report.Wide {
			row = append(row, report.Safe(s.Message)) // the last column may have any width
		}
		fmt.Fprintln(tab, strings.Join(row, "\t"))
	}
	return tab.Flush()
}

// showOptions are the flags of which findings are shown, and how. They are the same for
// what a sweep found and for what is stored.
type showOptions struct {
	severity  string
	selection report.Selection
	color     string
}

func (o *showOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.severity, "severity", "", "Show only findings of at least this severity. One of: low, medium, high")
	flags.StringArrayVar(&o.selection.Owners, "owner", nil, "Show only findings of this owner. Can be repeated")
	flags.StringSliceVar(&o.selection.States, "state", nil,
		"Show only findings in this state. One of: "+strings.Join(report.States(), ", ")+". Can be repeated")
	flags.StringVar(&o.selection.GroupBy, "group-by", "",
		"In a table: a section for each owner, rule or namespace. One of: "+strings.Join(report.Groupings(), ", "))
	flags.StringVar(&o.selection.Sort, "sort", report.Sortings()[0], "In a table: order of findings. One of: "+strings.Join(report.Sortings(), ", "))
	flags.BoolVar(&o.selection.All, "all", false, "In a table: a line for each finding, however many are alike")
	addColor(flags, &o.color)
}

func addColor(flags *pflag.FlagSet, color *string) {
	flags.StringVar(color, "color", report.ColorAuto, "When to use color. One of: auto, always, never")
}

// showFlags are the names of the flags that only make sense where something is shown.
func showFlags() []string {
	return []string{"severity", "owner", "state", "group-by", "sort", "all", "color"}
}

// complete checks the flags and returns the options of a report to the writer.
func (o *showOptions) complete(c command, w io.Writer) (report.Options, error) {
	var err error
	if o.selection, err = report.ParseSelection(o.selection, o.severity); err != nil {
		return report.Options{}, err
	}
	return outputOptions(c, w, o.color, o.selection)
}

// outputOptions returns the options of a report to the writer.
func outputOptions(c command, w io.Writer, color string, s report.Selection) (report.Options, error) {
	opts, err := report.OptionsFor(w, c.getenv).Colored(color)
	if err != nil {
		return opts, err
	}
	opts.Selection, opts.Program = s, displayName(c.path)
	return opts, nil
}

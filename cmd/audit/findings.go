package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/notify/report"
)

// findingsOptions are the flags of the findings command.
type findingsOptions struct {
	command
	show       showOptions
	namespace  string // in which findings are stored
	about      []string
	output     string
	rules      []string
	connection *genericclioptions.ConfigFlags
}

func newFindings(c command) *cobra.Command {
	o := &findingsOptions{command: c, connection: newConnection()}
	cmd := &cobra.Command{
		Use:   "findings [NAME]... [flags]",
		Short: "List the findings stored in the cluster",
		Long: `List the findings that a sweep with --publish stored in the cluster, or those that
are named. NAME is an ID, as shown or as "kubectl get findings" shows it, or a subject.

The state "excepted" is that of a finding which an exception in the config hides,
"retired" that of one whose rule was removed or which the config exempts. Both are
findings that no one looks for anymore: they may still exist.

Exit codes:

  0  all findings are listed
  2  the usage is invalid, or there is no finding of that name
  3  the findings could not be read, or some cannot be shown`,
		Example: `  # List all findings
  audit findings

  # List the open findings of one team, with everything that is stored
  audit findings --owner team-a --state open -o wide

  # Show what is known of a host
  audit findings shop.example.com -o wide`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	addFindingsNamespace(flags, &o.namespace)
	flags.StringSliceVarP(&o.about, "namespace", "n", nil, "Show only findings that involve this namespace. Can be repeated")
	flags.StringVarP(&o.output, "output", "o", "table", "Output format. One of: table, wide, json, yaml")
	flags.StringArrayVar(&o.rules, "rule", nil, "Show only findings of this rule. Can be repeated")
	o.show.addFlags(flags)
	addConnection(flags, o.connection)
	return cmd
}

func (o *findingsOptions) run(ctx context.Context, names []string) error {
	format, err := report.ParseFormat(o.output)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	layout, err := o.show.complete(o.command, o.out)
	if err != nil {
		return err
	}
	if err := checkFindingsNamespace(o.namespace); err != nil {
		return err
	}
	stored, newer, err := o.load(ctx)
	// An invariant of the config is a rule, too, which is known by its findings.
	if _, unknown := selectRules(o.rules); unknown != nil && !o.rulesIn(stored) {
		return fmt.Errorf("--rule: %w", unknown)
	}
	if err != nil {
		return err
	}
	all := len(stored)
	stored = slices.DeleteFunc(stored, func(s audit.Stored) bool { return s.Incomplete })
	incomplete := all - len(stored)
	list := make([]audit.Record, len(stored))
	for i := range stored {
		list[i] = stored[i].Record
	}
	if list, err = o.named(list, names); err != nil {
		return err
	}
	people := format == report.Table || format == report.Wide
	switch shown := report.Select(list, o.show.selection); {
	// An API server lists nothing in a namespace that does not exist either: the name
	// in the message shows a typo.
	case people && len(stored) == 0:
		_, err = fmt.Fprintln(o.out, "No findings in namespace "+o.namespace)
	case people && len(shown) == 0:
		_, err = fmt.Fprintf(o.out, "None of the %d findings in namespace %s match\n", len(stored), o.namespace)
	default:
		err = report.WriteFindings(o.out, format, list, o.now(), layout)
	}
	if err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("print findings: %w", err)}
	}
	return unshown(newer, incomplete)
}

// load reads what is stored, and the names of findings that a newer version wrote.
func (o *findingsOptions) load(ctx context.Context) ([]audit.Stored, []string, error) {
	cfg, err := restConfig(o.connection)
	if err != nil {
		return nil, nil, err
	}
	opened, err := store.New(cfg, o.namespace, store.Options{UserAgent: userAgent()})
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	stored, newer, err := opened.Load(ctx)
	if err != nil {
		return nil, nil, &exitError{exitIncomplete, err}
	}
	return stored, newer, nil
}

// rulesIn reports whether there are findings of each of the selected rules.
func (o *findingsOptions) rulesIn(stored []audit.Stored) bool {
	for _, rule := range o.rules {
		_, err := selectRules([]string{rule})
		if err != nil && !slices.ContainsFunc(stored, func(s audit.Stored) bool { return s.Rule == rule }) {
			return false
		}
	}
	return true
}

// named returns the findings that a user named and that involve the selected rules and
// namespaces.
func (o *findingsOptions) named(list []audit.Record, names []string) ([]audit.Record, error) {
	if len(names) > 0 {
		var found []audit.Record
		for _, name := range names {
			matches := report.Match(list, name)
			if len(matches) == 0 {
				return nil, known{records: list, where: "namespace " + o.namespace, complete: true}.unmatched(name)
			}
			for _, m := range matches {
				if !slices.ContainsFunc(found, func(r audit.Record) bool { return r.ID == m.ID }) {
					found = append(found, m)
				}
			}
		}
		list = found
	}
	return slices.DeleteFunc(list, func(r audit.Record) bool {
		return len(o.rules) > 0 && !slices.Contains(o.rules, r.Rule) || !audit.Concerns(&r.Finding, o.about)
	}), nil
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

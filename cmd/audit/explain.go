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

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/report"
)

// explainOptions are the flags of the explain command.
type explainOptions struct {
	readOptions
	previousPath string
	color        string
	fix          bool
}

func newExplain(c command) *cobra.Command {
	o := &explainOptions{readOptions: readOptions{command: c}}
	cmd := &cobra.Command{
		Use:   "explain FINDING [flags]",
		Short: "Explain a finding: evidence, cause and remedy",
		Long: `Explain a finding: the objects it is about, its cause, who owns it and what to do.

FINDING is what a report shows as ID, the beginning of a full ID, or the subject: a host,
a namespace, or a namespace with a direction, as in "shop (Egress)". The command sweeps
the cluster, or the manifests of --from, or takes the finding from an earlier report
(--previous). It writes nothing to the cluster. "audit findings NAME" shows what is
stored.

Exit codes:

  0  the finding is explained
  2  the usage is invalid, or there is no such finding
  3  there is no such finding in what could be read, and not everything could`,
		Example: `  # Explain a finding of the current cluster
  audit explain 22b8ffb

  # Explain what is wrong with a host or a namespace
  audit explain shop.example.com
  audit explain "shop (Egress)"

  # Review what would end it, and apply it
  audit explain "shop (Egress)" --fix > fix.yaml
  kubectl apply -f fix.yaml

  # Explain a finding of an earlier report, without a cluster
  audit explain 22b8ffb --previous report.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("explain: specify one FINDING, by the ID or the subject that a report shows")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), cmd.Flags(), args[0]) },
	}
	flags := cmd.Flags()
	o.addFlags(flags)
	flags.StringVar(&o.previousPath, "previous", "", "Take the finding from this report, printed with -o json or -o yaml, and sweep nothing")
	flags.BoolVar(&o.fix, "fix", false, "Print only what would end the finding: YAML to review and apply, or the commands to run as comments")
	addColor(flags, &o.color)
	return cmd
}

func (o *explainOptions) run(ctx context.Context, flags *pflag.FlagSet, name string) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	layout, err := outputOptions(o.command, o.out, o.color, report.Selection{})
	if err != nil {
		return err
	}
	if err := o.readConfig(); err != nil {
		return err
	}
	all, at, err := o.findings(ctx, flags)
	if err != nil {
		return err
	}
	found := report.Match(all.records, name)
	if len(found) == 0 {
		return all.unmatched(name)
	}
	if !report.SameLine(found) && !sameName(found) {
		return ambiguous(name, found)
	}
	if o.fix {
		return o.writeFix(found)
	}
	if o.format == report.JSON || o.format == report.YAML {
		err = report.WriteRecords(o.out, o.format, found)
	} else {
		err = report.WriteExplanation(o.out, found, all.records, at, layout)
	}
	if err != nil {
		return &exitError{exitIncomplete, err}
	}
	return nil
}

// writeFix prints what would end findings, each text once.
func (o *explainOptions) writeFix(found []audit.Record) error {
	var fixes []string
	for _, r := range found {
		if r.Fix != "" && !slices.Contains(fixes, r.Fix) {
			fixes = append(fixes, r.Fix)
		}
	}
	if len(fixes) == 0 {
		return &exitError{exitUsage, fmt.Errorf("no fix is known for %s: %s", found[0].Subject, found[0].Remedy)}
	}
	for i, fix := range fixes {
		if i > 0 {
			fmt.Fprintln(o.out, "---")
		}
		for line := range strings.Lines(fix) {
			if _, err := fmt.Fprintln(o.out, safeLine(line)); err != nil {
				return &exitError{exitIncomplete, fmt.Errorf("print the fix: %w", err)}
			}
		}
	}
	return nil
}

// known is what there is to explain.
type known struct {
	records  []audit.Record
	where    string // for people
	complete bool
	reason   string // why it is not complete
}

// findings sweeps, or reads an earlier report, and returns its findings and its time.
func (o *explainOptions) findings(ctx context.Context, flags *pflag.FlagSet) (known, time.Time, error) {
	if o.previousPath != "" {
		for _, name := range append(connectionFlags(), "from", "exclude", "default-namespace", "timeout") {
			if flags.Changed(name) {
				return known{}, time.Time{}, fmt.Errorf("--%s cannot be used with --previous, which sweeps nothing", name)
			}
		}
		r, err := readReport(o.previousPath)
		if err != nil {
			return known{}, time.Time{}, err
		}
		k := known{records: report.Records(report.FindingsOf(r)), where: o.previousPath, complete: r.Complete && r.Selection == nil}
		switch {
		case len(r.Failures) > 0:
			k.reason = r.Failures[0].Where + ": " + r.Failures[0].Reason
		case r.Selection != nil:
			k.reason = "the report has only some findings"
		}
		return k, r.StartedAt, nil
	}
	set, err := o.enabledRules(nil)
	if err != nil {
		return known{}, time.Time{}, err
	}
	if err := o.openSource(flags); err != nil {
		return known{}, time.Time{}, err
	}
	done := o.progress()
	res, err := audit.Sweep(ctx, o.reading(), set, &o.config, o.now, &audit.Previous{})
	done()
	if err != nil {
		return known{}, time.Time{}, &exitError{exitIncomplete, fmt.Errorf("sweep: %w", err)}
	}
	setFixes(res, &o.config)
	k := known{records: report.Records(res.Findings), where: o.config.Cluster, complete: res.Complete()}
	if failures := res.Failures(); len(failures) > 0 {
		k.reason = failures[0].Where + ": " + failures[0].Reason
	}
	return k, res.Started, nil
}

// readReport reads the report of an earlier sweep.
func readReport(path string) (*report.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("read previous report: %w", err)}
	}
	defer f.Close() // it was only read
	r, err := report.Read(f)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("--previous %s: %w", path, err)}
	}
	return r, nil
}

// unmatched is the error for a finding that is not among those known.
func (k known) unmatched(name string) error {
	var subjects []string
	for i := range k.records {
		subjects = append(subjects, k.records[i].Subject.Name)
	}
	hint := ""
	if meant := config.Suggest(name, subjects); meant != "" {
		hint = fmt.Sprintf(", did you mean %s?", meant)
	}
	if !k.complete {
		return &exitError{exitIncomplete, fmt.Errorf("no finding %q in what is known of %s, which is not everything (%s)%s", name, k.where, k.reason, hint)}
	}
	return &exitError{exitUsage, fmt.Errorf("no finding %q among the %d of %s%s", name, len(k.records), k.where, hint)}
}

// sameName reports whether findings are about things of one name, so that a user who gave
// the name gets all of them.
func sameName(found []audit.Record) bool {
	for i := range found {
		if found[i].Subject.Name != found[0].Subject.Name {
			return false
		}
	}
	return true
}

// ambiguous is the error for the beginning of several IDs.
func ambiguous(name string, found []audit.Record) error {
	const most = 5
	var names []string
	for i, id := range report.ShortIDs(found) {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(found)-most))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", id, found[i].Subject))
	}
	return &exitError{exitUsage, fmt.Errorf("%q is the beginning of %d findings: %s", name, len(found), strings.Join(names, ", "))}
}

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func newRules(c command) *cobra.Command {
	return &cobra.Command{
		Use:   "rules [NAME]",
		Short: "List the rules, or describe one",
		Example: `  # List the rules
  audit rules

  # Describe one rule: what it checks, what it reads and its settings
  audit rules one-owner-per-host`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRules(c.out)
			}
			set, err := selectRules(args)
			if err != nil {
				return err
			}
			return describeRule(c.out, set[0])
		},
	}
}

func listRules(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "NAME\tSEVERITY\tINVARIANT")
	for _, r := range catalog.All() {
		fmt.Fprintf(tab, "%s\t%s\t%s\n", r.Name, r.Severity, r.Title())
	}
	return tab.Flush()
}

func describeRule(w io.Writer, r *rules.Rule) error {
	settings := []string{"enabled", "severity"}
	for _, s := range r.Settings {
		settings = append(settings, string(s))
	}
	evidence := ""
	if len(r.Uses) > 0 {
		evidence = fmt.Sprintf("Reads as evidence: %s\n", kindList(r.Uses))
	}
	_, err := fmt.Fprintf(w, "%s (%s): %s\n\n%s\n\nReads: %s\n%sSettings: %s\n", r.Name, r.Severity, r.Title(), r.Text(),
		kindList(r.Needs), evidence, strings.Join(settings, ", "))
	return err
}

func kindList(kinds []snapshot.Kind) string {
	var names []string
	for _, k := range kinds {
		if k == snapshot.HostSources {
			names = append(names, "the kinds in hostSources")
			continue
		}
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// selectRules returns the rules with the given names in the order of All, or all
// rules if no name is given.
func selectRules(names []string) ([]*rules.Rule, error) {
	all := catalog.All()
	if len(names) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var set []*rules.Rule
	var known []string
	for _, r := range all {
		known = append(known, r.Name)
		if wanted[r.Name] {
			set = append(set, r)
			delete(wanted, r.Name)
		}
	}
	for _, name := range names {
		if wanted[name] {
			hint := ""
			if meant := config.Suggest(name, known); meant != "" {
				hint = " (did you mean " + meant + "?)"
			}
			return nil, fmt.Errorf("unknown rule %q%s, must be one of: %s", name, hint, strings.Join(known, ", "))
		}
	}
	return set, nil
}

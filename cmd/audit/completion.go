package main

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// displayName returns how users call a program of the given path: "kubectl NAME" for a
// plugin of kubectl, which finds plugins by the names of their files and turns "_" in
// them into "-"; otherwise audit.
func displayName(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), ".exe")
	if name, ok := strings.CutPrefix(base, "kubectl-"); ok && name != "" {
		return "kubectl " + strings.ReplaceAll(name, "_", "-")
	}
	return "audit"
}

// calls matches the program's name where a help text calls it.
var calls = regexp.MustCompile(`(?m)(^  |\| |["'])audit( |$)`)

// rename lets a command and its subcommands show the given name in their help.
func rename(root *cobra.Command, name string) {
	if name == root.Name() {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	each(root, func(cmd *cobra.Command) {
		cmd.Long = calls.ReplaceAllString(cmd.Long, "${1}"+name+"${2}")
		cmd.Example = calls.ReplaceAllString(cmd.Example, "${1}"+name+"${2}")
	})
}

func each(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, do)
	}
}

// addCompletion lets shells complete the values of flags, by their names, and the
// arguments of the commands that take the name of a rule, a key or a finding.
func addCompletion(root *cobra.Command) {
	words := func(all ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
	}
	byFlag := map[string]cobra.CompletionFunc{
		"context":   completeContexts,
		"output":    words("table", "wide", "json", "yaml"),
		"fail-on":   words("none", "low", "medium", "high"),
		"severity":  words("low", "medium", "high"),
		"state":     words(report.States()...),
		"group-by":  words(report.Groupings()...),
		"sort":      words(report.Sortings()...),
		"color":     words(report.ColorAuto, report.ColorAlways, report.ColorNever),
		"rule":      completeRules,
		"owner":     completeOwners,
		"namespace": cobra.NoFileCompletions,
	}
	byCommand := map[string]cobra.CompletionFunc{
		"rules": completeRules, "findings": completeFindings, "config explain": completeKeys, "explain": completeFindings,
	}
	each(root, func(cmd *cobra.Command) {
		for name, complete := range byFlag {
			if cmd.Flags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, complete) // it exists
			}
		}
		path := strings.TrimPrefix(cmd.CommandPath(), root.CommandPath()+" ")
		if complete, ok := byCommand[path]; ok && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = complete
		}
	})
}

// plain matches what every shell takes literally. Shells expand words in completions,
// and tenants of the cluster choose the names of owners and subjects.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._/()-]*$`)

// described is a completion with its description.
func described(word, text string) cobra.Completion { return cobra.CompletionWithDesc(word, text) }

func completeRules(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, r := range catalog.All() {
		all = append(all, described(r.Name, r.Title()))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func completeKeys(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, k := range config.Keys() {
		all = append(all, described(k.Path, k.Doc))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completeContexts completes the contexts of the kubeconfig.
func completeContexts(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	connection := newConnection()
	copyFlag(cmd, "kubeconfig", connection.KubeConfig)
	raw, err := connection.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// completeOwners completes the teams of the config, and the owners of stored findings.
func completeOwners(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	owners := map[string]bool{}
	if f := cmd.Flags().Lookup("config"); f != nil && f.Value.String() != "" {
		if c, err := config.Read(f.Value.String(), catalog.All()); err == nil {
			for i := range c.Owners.Teams {
				owners[c.Owners.Teams[i].Name] = true
			}
		}
	}
	for _, s := range storedFor(cmd) {
		for _, owner := range s.Owners {
			owners[owner] = true
		}
	}
	maps.DeleteFunc(owners, func(owner string, _ bool) bool { return !plain.MatchString(owner) })
	return slices.Sorted(maps.Keys(owners)), cobra.ShellCompDirectiveNoFileComp
}

// completeFindings completes the IDs of stored findings.
func completeFindings(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, s := range storedFor(cmd) {
		subject := s.Subject.String()
		if !plain.MatchString(subject) {
			subject = s.Rule
		}
		all = append(all, described(s.ID, subject))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completeWithin is how long a user who presses Tab waits for the cluster.
const completeWithin = 3 * time.Second

// storedFor returns the findings in the cluster that the flags of a command select. None
// can be told from an error: a shell shows neither.
func storedFor(cmd *cobra.Command) []audit.Stored {
	connection, namespace := newConnection(), "audit"
	copyFlag(cmd, "kubeconfig", connection.KubeConfig)
	copyFlag(cmd, "context", connection.Context)
	copyFlag(cmd, "server", connection.APIServer)
	copyFlag(cmd, "as", connection.Impersonate)
	copyFlag(cmd, "findings-namespace", &namespace)
	cfg, err := restConfig(connection)
	if err != nil {
		return nil
	}
	cfg.Timeout = completeWithin
	opened, err := store.New(cfg, namespace, store.Options{UserAgent: userAgent()})
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeWithin)
	defer cancel()
	stored, _, err := opened.Load(ctx)
	if err != nil {
		return nil
	}
	return stored
}

// copyFlag copies the value of a flag that the user set.
func copyFlag(cmd *cobra.Command, flag string, to *string) {
	if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
		*to = f.Value.String()
	}
}

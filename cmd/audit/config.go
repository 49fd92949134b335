package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/catalog"
)

func newConfig(c command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Validate a config file, explain its keys, or write a first one",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("config: specify a subcommand, one of: check, explain, init, rights")
		},
	}
	cmd.AddCommand(newConfigInit(c), newRights(c), &cobra.Command{
		Use:   "check FILE",
		Short: "Validate a config file",
		Long: `Validate a config file and print all errors. If FILE is -, read standard input. The
command connects to no cluster and reads none of the files that the config names.

Notes on standard error point out entries that are valid but may not have the
intended effect.

Exit codes:

  0  the config is valid
  2  the config is invalid`,
		Example: `  # Validate a config file
  audit config check audit.yaml

  # Validate the config in the cluster
  kubectl get configmap audit -n audit -o jsonpath='{.data.audit\.yaml}' | audit config check -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("config check: specify one FILE, or - for standard input")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return c.checkConfig(args[0]) },
	}, &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Describe the keys of the config file",
		Long:  "Describe all keys of the config file, or those in the section KEY.",
		Example: `  # Describe all keys
  audit config explain

  # Describe the keys of teams
  audit config explain owners.teams`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return explainConfig(c.out, strings.Join(args, "")) },
	})
	return cmd
}

func (c command) checkConfig(path string) error {
	var cfg config.Config
	var err error
	if path == "-" {
		cfg, err = c.stdinConfig()
	} else {
		cfg, err = config.Read(path, catalog.All())
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	for _, note := range cfg.Notes(c.now()) {
		fmt.Fprintf(c.err, "audit: note: %s\n", safeLine(note))
	}
	_, err = fmt.Fprintf(c.out, "%s: valid: %s\n", safeLine(path), safeLine(describeConfig(&cfg)))
	return err
}

func (c command) stdinConfig() (config.Config, error) {
	data, err := io.ReadAll(io.LimitReader(c.in, config.MaxSize+1))
	if err != nil {
		return config.Config{}, fmt.Errorf("read config: %w", err)
	}
	return config.Parse(data, "standard input", catalog.All())
}

// describeConfig summarizes a config in one line.
func describeConfig(c *config.Config) string {
	cluster := "no cluster name"
	if c.Cluster != "" {
		cluster = "cluster " + c.Cluster
	}
	on, reportOnly := 0, 0
	for _, r := range catalog.All() {
		s := c.Settings(r)
		if s.Enabled {
			on++
		}
		if s.Enabled && s.ReportOnly {
			reportOnly++
		}
	}
	notified := 0
	for i := range c.Owners.Teams {
		if t := &c.Owners.Teams[i]; t.Slack.HasDestination() && !t.ReportOnly {
			notified++
		}
	}
	return fmt.Sprintf("%s; rules: %d of %d enabled, %d report only; teams: %d, %d notified in Slack; exceptions: %d",
		cluster, on, len(catalog.All()), reportOnly, len(c.Owners.Teams), notified, len(c.Exceptions))
}

// explainConfig prints the keys that begin with a prefix.
func explainConfig(w io.Writer, prefix string) error {
	found := false
	for _, k := range config.Keys() {
		if !beginsWith(k.Path, prefix) {
			continue
		}
		found = true
		value := ""
		if k.Default != "" {
			value = ", default " + k.Default
		}
		if _, err := fmt.Fprintf(w, "%s (%s%s)\n    %s\n", k.Path, k.Type, value, k.Doc); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("unknown key %q, run audit config explain for a list", prefix)
	}
	return nil
}

// beginsWith reports whether a path is the given key or in that section. The key may
// omit the [] of lists.
func beginsWith(path, prefix string) bool {
	if prefix == "" || path == prefix {
		return true
	}
	plain, prefix := strings.ReplaceAll(path, "[]", ""), strings.ReplaceAll(prefix, "[]", "")
	return plain == prefix || strings.HasPrefix(plain, prefix+".")
}

func newRights(c command) *cobra.Command {
	return &cobra.Command{
		Use:   "rights [FILE]",
		Short: "Print the ClusterRole that a sweep needs",
		Long: `Print the ClusterRole that a sweep without --publish needs, with the config in FILE or
with the defaults: to list the kinds that the enabled rules and host sources read. It
includes no Secrets and no writes. Rights to kinds that a cluster does not have are
harmless.`,
		Example: `  # Let jane run sweeps
  audit config rights | kubectl apply -f -
  kubectl create clusterrolebinding audit-read-only --clusterrole=audit-read-only --user=jane`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o := &readOptions{command: c, configPath: strings.Join(args, "")}
			if err := o.readConfig(); err != nil {
				return err
			}
			set, err := o.enabledRules(nil)
			if err != nil {
				return err
			}
			return printRights(c.out, source.Rights(audit.Needs(set), o.config.EnabledHostSources()))
		},
	}
}

// printRights prints a ClusterRole with such rules.
func printRights(w io.Writer, rules []rbacv1.PolicyRule) error {
	text, err := yaml.Marshal(rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "audit-read-only"},
		Rules:      rules,
	})
	if err != nil {
		return fmt.Errorf("encode role: %w", err)
	}
	_, err = w.Write(text)
	return err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// initOptions are the flags of the command that writes a first config.
type initOptions struct{ readOptions }

func newConfigInit(c command) *cobra.Command {
	o := &initOptions{readOptions{command: c}}
	cmd := &cobra.Command{
		Use:   "init [--from PATH]... [flags]",
		Short: "Write a first config from a cluster",
		Long: `Write a commented config for a cluster to standard output: the keys that name owners,
the teams that they name, and all rules as report only, so that no one is notified
until you decide so. What Namespaces say about Slack channels is written as comments:
anyone who can annotate a Namespace could otherwise redirect messages. The command
reads Namespaces and writes nothing to the cluster.

Exit codes:

  0  the config is complete
  2  the usage is invalid; nothing was read
  3  the namespaces could not be read`,
		Example: `  # Write a config for the cluster of the current context, and validate it
  audit config init > audit.yaml
  audit config check audit.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.addFlags(cmd.Flags())
	for _, name := range []string{"output", "config"} {
		_ = cmd.Flags().MarkHidden(name) // the flag exists
	}
	return cmd
}

func (o *initOptions) complete(flags *pflag.FlagSet) error {
	for _, name := range []string{"output", "config"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s cannot be used here: the command writes a new config", name)
		}
	}
	return o.open(flags)
}

// run reads the namespaces and writes the config.
func (o *initOptions) run(ctx context.Context) error {
	snap, met, err := o.read(ctx, snapshot.Namespaces)
	if err != nil {
		return err
	}
	if err := unreadOf(snap, met); err != nil {
		return &exitError{exitIncomplete, err}
	}
	text := firstConfig(snap, o.config)
	if _, err := config.Parse([]byte(text), "the new config", catalog.All()); err != nil {
		return &exitError{exitIncomplete, errors.Join(errors.New("the config for this cluster is not valid, which is a fault of audit"), err)}
	}
	if _, err := fmt.Fprint(o.out, text); err != nil {
		return &exitError{exitIncomplete, fmt.Errorf("write config: %w", err)}
	}
	return nil
}

// mostTeams is the number of teams that a first config lists.
const mostTeams = 200

// firstConfig returns a config for the cluster of a snapshot. The given one has the name of
// the cluster and the default owner keys.
func firstConfig(snap *snapshot.Snapshot, c config.Config) string {
	hint := audit.FindOwnerKey(snap, audit.Ownership(snap, &c))
	var w strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&w, format+"\n", args...) }

	line("# Validate this file with: audit config check FILE")
	line("# See what it finds with:  audit --once --config FILE")
	line("")
	line("cluster: %s", quoted(c.Cluster))
	line("")
	line("owners:")
	if hint != nil {
		c.Owners.Keys = append([]string{hint.Key}, c.Owners.Keys...)
		line("  # %d of %d namespaces carry the %s %s.", hint.Carry, hint.Of, hint.Sort(), comment(hint.Key))
	}
	line("  # Labels or annotations that name an owner, the most trusted first. Only the")
	line("  # platform should be able to write them on Namespaces.")
	line("  keys: %s", list(c.Owners.Keys))
	line("  # Who is notified of what no one owns:")
	line("  # fallback: platform")
	writeTeams(line, snap, &c)
	line("")
	line("rules:")
	line("  # Findings are stored and counted, and no one is notified. Remove reportOnly from a")
	line("  # rule when its findings are few enough to act on.")
	for _, r := range catalog.All() {
		line("  %s:", r.Name)
		line("    reportOnly: true")
		if slices.Contains(r.Settings, rules.SettingExemptNamespaces) {
			line("    exemptNamespaces: %s", list(exemptNamespaces(snap)))
		}
	}
	return w.String()
}

// writeTeams writes the teams that the owner keys name, with their namespaces and with
// what those say about channels.
func writeTeams(line func(string, ...any), snap *snapshot.Snapshot, c *config.Config) {
	namespaces, channels := map[string][]string{}, map[string][]string{}
	for ns := range snap.Namespaces() {
		owner := ownerByKeys(ns, c.Owners.Keys)
		if owner == "" || report.Safe(owner) != owner {
			continue
		}
		namespaces[owner] = append(namespaces[owner], ns.Name)
		for key, value := range ns.Annotations.All() {
			if snapshot.NamesChannel(key) {
				channels[owner] = append(channels[owner], fmt.Sprintf("annotation %s of Namespace %s says %s", key, ns.Name, strconv.Quote(value)))
			}
		}
	}
	teams := slices.Sorted(maps.Keys(namespaces))
	if len(teams) == 0 {
		line("  # No owner key names a team yet. A team that owns namespaces by their names:")
		line("  # teams:")
		line("  #   - name: team-a")
		line(`  #     namespaces: ["shop-*"]`)
		line("  #     slack: {channel: C0123456789}")
		return
	}
	line("  # The teams that the keys name. To notify a team, set its channel.")
	line("  teams:")
	for _, team := range teams[:min(len(teams), mostTeams)] {
		line("    - name: %s # %s", quoted(team), comment(some(namespaces[team])))
		for _, said := range channels[team][:min(len(channels[team]), 3)] {
			line("      # %s", comment(said))
		}
		line("      # slack: {channel: C0123456789}")
	}
	if more := len(teams) - mostTeams; more > 0 {
		line("    # and %d more", more)
	}
}

// ownerByKeys returns the owner that a Namespace names by the first of the keys that it
// has, or "".
func ownerByKeys(ns *snapshot.Namespace, keys []string) string {
	for _, key := range keys {
		for _, values := range []snapshot.Labels{ns.Labels, ns.Annotations} {
			if value, _ := values.Get(key); strings.TrimSpace(value) != "" {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// exemptNamespaces returns the namespaces that a first config exempts: those of Kubernetes
// itself, and those that a distribution or a network plugin makes, where there are any.
func exemptNamespaces(snap *snapshot.Snapshot) []string {
	exempt := []string{"kube-system", "kube-public", "kube-node-lease"}
	for _, pattern := range []string{"calico-*", "cilium-*", "gke-*", "gmp-*", "openshift", "openshift-*", "tigera-operator"} {
		for ns := range snap.Namespaces() {
			if config.Glob(pattern).Match(ns.Name) {
				exempt = append(exempt, pattern)
				break
			}
		}
	}
	return exempt
}

// some names the first few of some names.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// quoted returns text as a YAML string on one line. JSON is a part of YAML.
func quoted(text string) string {
	out, _ := json.Marshal(text) // a string is always encoded
	return string(out)
}

func list(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = quoted(t)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// comment returns text as a YAML comment may hold it: on one line, and printable.
func comment(text string) string { return report.Safe(text) }

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/notify/report"
)

// run runs the program and returns its exit code. A signal stops it: a command that
// runs once is abandoned and prints nothing more, the long-running mode stops
// gracefully.
func run(c command) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c.stopping = &stopping{}
	done := make(chan error, 1)
	go func() { done <- newRoot(c).ExecuteContext(ctx) }()
	select {
	case err := <-done:
		return c.exit(err)
	case sig := <-c.signals:
		cancel(fmt.Errorf("received signal %s", sig))
		return c.stop(sig, done)
	}
}

// newRoot returns the command, which sweeps, with its subcommands.
func newRoot(c command) *cobra.Command {
	o := &sweepOptions{publishOptions: publishOptions{readOptions: readOptions{command: c, formats: []report.Format{report.HTML}}}}
	root := &cobra.Command{
		Use:   "audit [--once [--from PATH]...] [--publish] [flags]",
		Short: "Check a Kubernetes cluster for broken cross-object invariants",
		Long: `Check a Kubernetes cluster for broken cross-object invariants.

audit reads the live objects of a cluster, or manifests, and reports invariants
that no longer hold across objects, such as hosts with more than one owner,
namespaces without default-deny, and workloads without an owner. Use "audit rules"
for the list.

With --once, audit sweeps once and prints a report. Without --once, it sweeps at
every --interval until it is stopped, logs one line per sweep and serves metrics.

Nothing is written anywhere unless --publish is given, which stores findings as
objects in the cluster, notifies their owners and pushes metrics. Without --once, it
also uses leader election, so that only one of several replicas sweeps.

Exit codes:

  0  the sweep is complete, with no open findings at or above --fail-on
  1  there are open findings at or above --fail-on
  2  the usage or the config is invalid; nothing was read
  3  the sweep is incomplete: something could not be read, written or delivered,
     or a rule failed (takes precedence over 1)`,
		Example: `  # Sweep the cluster of the current context
  audit --once

  # Also show how each namespace is isolated and what was read
  audit --once --context prod -o wide

  # Check manifests before they are applied, in CI
  audit --once --from manifests/ --config audit.yaml -o json

  # Check objects that kubectl exported
  kubectl get ns,ing,ingressclass,netpol,deploy,rs,sts,ds,rc,job,cronjob,pod -A -o json | audit --once --from -

  # Sweep every ten minutes, log what opens and resolves, and write nothing
  audit

  # Print the messages that owners would get, and send none
  audit --once --config audit.yaml --publish --dry-run`,
		Args:              noArguments,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return oneContext(cmd.Flags()) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd.Flags()); err != nil {
				return err
			}
			if !o.once {
				return o.serve(cmd.Context())
			}
			return o.run(cmd.Context())
		},
	}
	o.addFlags(root.Flags())
	root.SetArgs(c.args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.AddCommand(newConfig(c), newExplain(c), newFindings(c), newOwners(c), newRules(c), newVersion(c))
	addCompletion(root)
	rename(root, displayName(c.path))
	return root
}

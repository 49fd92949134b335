package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/notify/report"
)

// command is one call of the program, with everything that it may touch.
type command struct {
	args     []string
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	now      func() time.Time
	signals  <-chan os.Signal // those that end the program
	ending   *ending          // made by run
}

// The exit codes beside 0.
const (
	exitFindings   = 1 // findings at or above --fail-on
	exitUsage      = 2 // wrong usage or config: nothing was read
	exitIncomplete = 3 // something could not be read, or a rule failed
	exitSignal     = 128
)

// exitError ends the program with a code. Its error, if there is one, is
// printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprintf("exit %d: %v", e.code, e.err) }

func (e *exitError) Unwrap() error { return e.err }

// endGrace is how long a sweep that was told to end may take to do so. A read
// that blocks, such as one of a terminal, is left behind then.
const endGrace = 500 * time.Millisecond

// run runs the program and returns its exit code. A signal ends it: what it was
// doing is abandoned, and nothing more is printed. What serves ends in order.
func run(c command) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c.ending = &ending{}
	done := make(chan error, 1)
	go func() { done <- newRoot(c).ExecuteContext(ctx) }()
	select {
	case err := <-done:
		return c.exit(err)
	case sig := <-c.signals:
		cancel(fmt.Errorf("ended by %s", sig))
		return c.end(sig, done)
	}
}

// exit prints an error, a line for each that it joins, and returns the code.
// Errors that nothing gave a code are of usage: cobra's own.
func (c command) exit(err error) int {
	if err == nil {
		return 0
	}
	code := exitUsage
	var e *exitError
	if errors.As(err, &e) {
		code, err = e.code, e.err
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(c.err, "audit: %s\n", safeLine(line))
		}
		if code == exitUsage && e == nil {
			fmt.Fprintln(c.err, "audit: see audit --help")
		}
	}
	return code
}

// newRoot returns the command with its subcommands.
func newRoot(c command) *cobra.Command {
	o := &sweepOptions{command: c}
	root := &cobra.Command{
		Use:   "audit [--once [--from PATH]...] [flags]",
		Short: "Sweep a Kubernetes cluster for broken cross-object invariants",
		Long: `audit reads the live objects of a cluster, or manifests, and reports where
invariants across objects do not hold: hosts with more than one owner, namespaces
without default-deny, workloads that nobody owns. It only looks.

With --publish it keeps findings as objects of the cluster. Without --once it
does so again and again until it is told to end, which exits with 0; it logs one
line for each sweep, and one of several such processes does the work.

Exit codes: 0 complete and nothing at or above --fail-on; 1 findings at or above
--fail-on; 2 wrong usage or config, nothing was read; 3 incomplete, something
could not be read, told or pushed, or a rule failed (wins over 1).`,
		Example: `  audit --once
  audit --once --context prod -o wide
  audit --once --from manifests/ --config audit.yaml -o json
  kubectl get ns,ing,ingressclass,netpol,deploy,rs,sts,ds,rc,job,cronjob,pod -A -o yaml | audit --once --from -`,
		Args:              noArguments,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd); err != nil {
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
	root.AddCommand(newConfig(c), newFindings(c), newOwners(c), newRules(c), newVersion(c))
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is no command, and %s takes no arguments", args[0], cmd.Name())
	}
	return nil
}

// safeLine returns one line of an error as a terminal may have it. Errors name
// paths and quote input.
func safeLine(line string) string { return report.Safe(strings.TrimRight(line, "\n")) }

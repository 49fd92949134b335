// Command withcluster runs a command with a real API server beside it:
//
//	withcluster -- COMMAND [ARG...]
//
// In the command's environment, KUBECONFIG points to the server and kubectl comes first
// on the PATH. withcluster stops the server when the command ends, and exits with
// the command's exit code. SIGINT and SIGTERM end both.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// Exit codes, as in a shell: of a command that can't be run, and of one that a signal
// ended, to which the number of the signal is added.
const (
	exitUsage  = 2
	exitNoRun  = 127
	exitSignal = 128
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "usage: withcluster -- COMMAND [ARG...]")
		return exitUsage
	}
	cluster, err := kubetest.Start(ctx, kubetest.Options{})
	if err != nil {
		fmt.Fprintln(stderr, "withcluster:", err)
		return max(1, interrupted(ctx))
	}
	code, err := runBeside(ctx, cluster, args, stdin, stdout, stderr)
	// Without ctx, which a signal may have canceled.
	if err = errors.Join(err, cluster.Stop()); err != nil {
		fmt.Fprintln(stderr, "withcluster:", err)
		code = max(code, 1)
	}
	return code
}

// runBeside runs the command. An error means that the command could not be run.
func runBeside(ctx context.Context, cluster *kubetest.Cluster, args []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	path, err := lookPath(cluster.ToolDir, args[0])
	if err != nil {
		return exitNoRun, fmt.Errorf("run %s: %w", args[0], err)
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Env = append(os.Environ(), cluster.Env()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return exitSignal + int(status.Signal()), nil
		}
		return exit.ExitCode(), nil
	case ctx.Err() != nil:
		return interrupted(ctx), nil
	case err != nil:
		return exitNoRun, fmt.Errorf("run %s: %w", args[0], err)
	}
	return 0, nil
}

// interrupted returns the exit code after a signal, or 0 without one.
func interrupted(ctx context.Context) int {
	if ctx.Err() == nil {
		return 0
	}
	return exitSignal + int(syscall.SIGINT)
}

// lookPath finds a command in the folder of kubectl or on the PATH.
func lookPath(dir, name string) (string, error) {
	if filepath.Base(name) == name {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return exec.LookPath(name)
}

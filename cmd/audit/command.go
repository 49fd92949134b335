package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/notify/report"
)

// command is one call of the program, with everything that it may touch.
type command struct {
	path     string // by which the program was called
	args     []string
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	now      func() time.Time
	signals  <-chan os.Signal // those that stop the program
	stopping *stopping        // made by run
}

// The exit codes besides 0.
const (
	exitFindings   = 1 // findings at or above --fail-on
	exitUsage      = 2 // wrong usage or config: nothing was read
	exitIncomplete = 3 // something could not be read or delivered, or a rule failed
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

// exit prints an error, a line for each that it joins, and returns the code.
// Errors without a code are cobra's own, so errors of usage.
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
			fmt.Fprintf(c.err, "See '%s --help' for usage.\n", displayName(c.path))
		}
	}
	return code
}

// stopGrace is how long a sweep that runs once may take to stop. A read that blocks,
// such as one from a terminal, is abandoned then.
const stopGrace = 500 * time.Millisecond

// stopping is how long a command may take to stop after a signal. Most commands are
// abandoned. One that publishes finishes the messages that are under way, records them
// and releases its lease.
type stopping struct {
	nanoseconds atomic.Int64
	service     atomic.Bool
}

// finish lets the command finish what is under way, within the given time. It is
// abandoned all the same, and has nothing more to print.
func (s *stopping) finish(grace time.Duration) { s.nanoseconds.Store(int64(grace)) }

// allow lets the command stop gracefully, within the given time, which is how a service
// ends.
func (s *stopping) allow(grace time.Duration) {
	s.finish(grace)
	s.service.Store(true)
}

// grace returns how long the command may take, and whether it stops gracefully.
func (s *stopping) grace() (time.Duration, bool) {
	if n := s.nanoseconds.Load(); n > 0 {
		return time.Duration(n), s.service.Load()
	}
	return stopGrace, false
}

// stop waits until the command has stopped after a signal, and returns the exit code.
// A second signal ends the wait.
//
// A service that stops gracefully on SIGTERM has not failed, and exits with 0. After
// an interrupt from the keyboard the code is the one that shells expect.
func (c command) stop(sig os.Signal, done <-chan error) int {
	code := exitSignal
	if s, ok := sig.(syscall.Signal); ok {
		code += int(s)
	}
	grace, graceful := c.stopping.grace()
	inTime := false
	var err error
	select {
	case err = <-done:
		inTime = true
	case <-c.signals:
	case <-time.After(grace):
	}
	switch {
	case !graceful:
		fmt.Fprintf(c.err, "audit: received signal %s, no report was printed\n", sig)
	case !inTime:
		fmt.Fprintf(c.err, "audit: received signal %s, work in progress was canceled\n", sig)
	case err != nil: // it failed just then
		return c.exit(err)
	case sig == syscall.SIGTERM:
		return 0
	}
	return code
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return nil
}

// safeLine returns one line of an error as a terminal may have it. Errors name
// paths and quote input.
func safeLine(line string) string { return report.Safe(strings.TrimRight(line, "\n")) }

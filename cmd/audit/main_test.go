package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// control is the API server of the live tests.
var control = &kubetest.Shared{}

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"audit": scripted})
}

// suite runs the tests and then stops the API server, if one was started.
type suite struct{ m *testing.M }

func (s suite) Run() int { return control.Main(s.m) }

// today is the day on which the tests run the program, wherever its output
// tells times. It is a little later than the newest object of the estate.
var today = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// scriptClock is the variable that gives a script's program another clock than
// that of the machine.
const scriptClock = "AUDIT_TEST_NOW"

// scripted is the program as scripts run it: main itself, but for its clock.
func scripted() {
	text := os.Getenv(scriptClock)
	if text == "" {
		main()
		return
	}
	now, err := time.Parse(time.RFC3339, text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitSignal)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(command{
		args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr,
		getenv: os.Getenv, now: func() time.Time { return now }, signals: signals,
	}))
}

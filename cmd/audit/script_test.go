package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts of testdata/script: the command as users see it. In a script `exits 3 audit --once` runs a program that must end with
// that code, and $ESTATE is the path of the sample estate.
func TestScripts(t *testing.T) {
	estate, err := filepath.Abs(estateDir)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join(moduleRoot, "testdata", "script"),
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ESTATE", estate)
			env.Setenv(scriptClock, today.Format(time.RFC3339))
			return nil
		},
	})
}

// exits runs a program and compares its exit code with the one wanted.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
)

// update makes the tests write what they would otherwise compare: generated parts of
// documents, and the expected output in scripts.
var update = flag.Bool("update", false, "write generated text instead of comparing it")

// The folders that tests read from.
const (
	moduleRoot = "../.."
	estateDir  = moduleRoot + "/testdata/estate"
)

// outcome is what one run of the program left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// execute runs the program in this process, with nothing on its standard input.
func execute(args ...string) outcome { return executeWith(nil, args...) }

// executeWith is execute with an environment.
func executeWith(environment map[string]string, args ...string) outcome {
	return executeAt(today, environment, args...)
}

// executeAt is executeWith at a time.
func executeAt(now time.Time, environment map[string]string, args ...string) outcome {
	var out, errs bytes.Buffer
	code := run(command{
		args: args, in: strings.NewReader(""), out: &out, err: &errs,
		getenv: func(key string) string { return environment[key] }, now: func() time.Time { return now },
	})
	return outcome{code, out.String(), errs.String()}
}

// spawn runs the program as a process of its own, which parallel tests cannot
// disturb.
func spawn(t *testing.T, args ...string) outcome {
	t.Helper()
	return launch(t, args...)()
}

// launch starts the program as a process and returns what waits for its end.
func launch(t *testing.T, args ...string) (wait func() outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "audit", args...) // TestMain puts it on the PATH
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	wait = sync.OnceValue(func() outcome {
		defer cancel()
		_ = cmd.Wait() // the exit code has all that matters
		return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	})
	t.Cleanup(func() { cancel(); wait() })
	return wait
}

// sweep runs a sweep, which must end with the code and print nothing to
// standard error, and returns its report.
func sweep(t *testing.T, code int, args ...string) *report.Report {
	t.Helper()
	got := execute(append([]string{"--once", "-o", "json"}, args...)...)
	if got.code != code || got.stderr != "" {
		t.Fatalf("audit %s: exit %d, want %d; standard error:\n%s\nstandard output:\n%s",
			strings.Join(args, " "), got.code, code, got.stderr, got.stdout)
	}
	return decode(t, got.stdout)
}

// decode reads a report in JSON, all fields of which must be in the contract.
func decode(t *testing.T, text string) *report.Report {
	t.Helper()
	var r report.Report
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("decode report: %v\n%s", err, text)
	}
	if r.APIVersion != report.APIVersion || r.Kind != report.Kind {
		t.Fatalf("document is a %s %s", r.APIVersion, r.Kind)
	}
	return &r
}

// buildAudit builds the program as users get it and returns its path.
func buildAudit(t *testing.T) string { return buildAt(t, ".") }

// buildAt builds the command of a folder, and returns its path.
func buildAt(t *testing.T, folder string) string {
	t.Helper()
	path := t.TempDir() + "/command"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, folder).CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// evaluation is what a report has about one subject, except for what differs between two
// sweeps of the same manifests: times, and text with times. For an advisory, verdict and
// severity are empty.
type evaluation struct {
	Rule, Subject, Verdict, Severity, Owners string
	Objects                                  []string // each with its reason, sorted
}

func findings(r *report.Report) []evaluation {
	var out []evaluation
	for _, f := range r.Findings {
		out = append(out, evaluation{
			f.Rule, subject(f.Subject), f.Verdict, f.Severity, strings.Join(f.Owners, ", "), parts(f.Objects),
		})
	}
	return sorted(out)
}

func advisories(r *report.Report) []evaluation {
	var out []evaluation
	for _, a := range r.Advisories {
		out = append(out, evaluation{
			Rule: a.Rule, Subject: subject(a.Subject), Owners: strings.Join(a.Owners, ", "), Objects: parts(a.Objects),
		})
	}
	return sorted(out)
}

func sorted(list []evaluation) []evaluation {
	slices.SortFunc(list, func(a, b evaluation) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Subject, b.Subject))
	})
	return list
}

func subject(s report.Subject) string { return s.Kind + " " + rules.Subject(s).String() }

func parts(objects []report.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, fmt.Sprintf("%s %s/%s %s", o.Kind, o.Namespace, o.Name, o.Reason))
	}
	slices.Sort(out)
	return out
}

// isolation returns a line for each namespace, as estateIsolation has them.
func isolation(r *report.Report) []string {
	var out []string
	for _, i := range r.Isolation {
		line := fmt.Sprint(i.Namespace, " ", i.Workloads, " ", i.Ingress, " ", i.Egress, " ", i.Open)
		if i.Scope != "" {
			line += " " + i.Scope
		}
		if i.Exempt {
			line += " exempt"
		}
		out = append(out, line)
	}
	return out
}

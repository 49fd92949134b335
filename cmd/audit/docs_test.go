package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Generated parts of the documentation are between two comments, <!-- NAME -->
// and <!-- /NAME -->. With -update they are written.

func TestDocsRules(t *testing.T) {
	t.Chdir(moduleRoot)
	checkPart(t, "README.md", "rules", rulesTable())
	for _, r := range catalog.All() {
		checkPart(t, "docs/rules/"+r.Name+".md", "doc", rulePage(r))
	}
	pages, err := filepath.Glob("docs/rules/*.md")
	if err != nil || len(pages) != len(catalog.All()) {
		t.Errorf("docs/rules has %d pages for %d rules: %v", len(pages), len(catalog.All()), err)
	}
}

func TestDocsFlags(t *testing.T) {
	t.Chdir(moduleRoot)
	checkPart(t, "docs/cli.md", "flags", flagsTable())
}

func TestDocsConfig(t *testing.T) {
	t.Chdir(moduleRoot)
	checkPart(t, "docs/configuration.md", "config", configTable())
}

func TestDocsMetrics(t *testing.T) {
	table := metricsTable(t)
	t.Chdir(moduleRoot)
	checkPart(t, "docs/metrics-and-alerts.md", "metrics", table)
}

func TestDocsExampleReport(t *testing.T) {
	t.Chdir(moduleRoot)
	got := execute("--once", "--from", "testdata/estate")
	if got.code != exitFindings || got.stderr != "" {
		t.Fatalf("exit %d, standard error: %s", got.code, got.stderr)
	}
	checkPart(t, "docs/example-report.md", "estate", "```\n"+got.stdout+"```\n")
	checkPart(t, "README.md", "finding", "```\n$ audit --once --from testdata/estate\n"+withoutAdvisories(got.stdout)+"```\n")
}

// withoutAdvisories returns a report without its advisories.
func withoutAdvisories(text string) string {
	var kept []string
	for _, part := range strings.Split(text, "\n\n") {
		if !strings.HasPrefix(part, "ADVISORY") {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n\n")
}

func TestDocsConfigExamplesAreValid(t *testing.T) {
	t.Chdir(moduleRoot)
	examples := 0
	for _, page := range markdown(t) {
		for _, block := range strings.Split(page.text, "```yaml\n")[1:] {
			text, _, _ := strings.Cut(block, "```")
			if page.path != "docs/configuration.md" && !strings.HasPrefix(text, "owners:") && !strings.HasPrefix(text, "exceptions:") {
				continue
			}
			examples++
			c, err := config.Parse([]byte(text), page.path, catalog.All())
			if err != nil {
				t.Errorf("%s: %v", page.path, err)
				continue
			}
			if notes := c.Notes(today); len(notes) > 0 && page.path == "docs/configuration.md" {
				t.Errorf("%s: an example has notes: %s", page.path, strings.Join(notes, "; "))
			}
		}
	}
	if examples < 4 {
		t.Errorf("%d examples found", examples)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestDocsLinks checks that every relative link leads to a file, and to a heading
// of it where it names one.
func TestDocsLinks(t *testing.T) {
	t.Chdir(moduleRoot)
	anchors := map[string][]string{}
	for _, page := range markdown(t) {
		for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page.text, ""), -1) {
			anchors[page.path] = append(anchors[page.path], anchor(h[1]))
		}
	}
	links := 0
	for _, page := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(page.text, ""), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			path := page.path
			if target != "" {
				path = filepath.Join(filepath.Dir(page.path), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", page.path, m[1])
			} else if fragment != "" && !slices.Contains(anchors[path], fragment) {
				t.Errorf("%s links to %s, and %s has no such heading", page.path, m[1], path)
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links found", links)
	}
}

// TestSecurityNamesTestsThatExist checks the evidence that docs/security.md names.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	t.Chdir(moduleRoot)
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
	}
	if len(named) < 30 {
		t.Fatalf("docs/security.md names %d tests", len(named))
	}
	for _, m := range regexp.MustCompile("`([a-z]+(?:/[a-z.]+)+)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("docs/security.md names %s: %v", m[1], err)
		}
	}
	defined := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range defined.FindAllStringSubmatch(string(source), -1) {
			delete(named, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range named {
		t.Errorf("docs/security.md names %s, and no test is called that", name)
	}
}

type page struct{ path, text string }

// markdown returns the documents of the repository, by path.
func markdown(t *testing.T) []page {
	t.Helper()
	var pages []page
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "bin"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		pages = append(pages, page{path, string(text)})
		return err
	})
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d documents found: %v", len(pages), err)
	}
	return pages
}

var notAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchor is the fragment that GitHub gives a heading.
func anchor(heading string) string {
	heading = strings.ToLower(strings.ReplaceAll(heading, "`", ""))
	return strings.ReplaceAll(notAnchor.ReplaceAllString(heading, ""), " ", "-")
}

// checkPart compares the generated part of a document with what the code says.
func checkPart(t *testing.T, path, name, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, got, after, err := cutPart(data, name)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	want = "\n" + want + "\n" // a Markdown table needs blank lines around it
	if *update {
		if err := os.WriteFile(path, slices.Concat(before, []byte(want), after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s: the part %q is stale, run make generate (-want +got):\n%s", path, name, diff)
	}
}

// cutPart splits a document at the two comments of that name, which stay with the
// text around the part.
func cutPart(text []byte, name string) (before, part, after []byte, err error) {
	first, last := []byte("<!-- "+name+" -->\n"), []byte("<!-- /"+name+" -->")
	for _, mark := range [][]byte{first, last} {
		if n := bytes.Count(text, mark); n != 1 {
			return nil, nil, nil, fmt.Errorf("found %q %d times, want once", mark, n)
		}
	}
	begin, end := bytes.Index(text, first)+len(first), bytes.Index(text, last)
	if begin > end {
		return nil, nil, nil, fmt.Errorf("%q is before %q", last, first)
	}
	return text[:begin], text[begin:end], text[end:], nil
}

func rulesTable() string {
	var b strings.Builder
	b.WriteString("| rule | severity | invariant |\n|---|---|---|\n")
	for _, r := range catalog.All() {
		fmt.Fprintf(&b, "| [`%s`](docs/rules/%s.md) | %s | %s |\n", r.Name, r.Name, r.Severity, cell(r.Title()))
	}
	return b.String()
}

// rulePage is what a rule's doc says, with what it reads.
func rulePage(r *rules.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Default severity: %s. %s.\n\n%s\n\n## What it reads\n\n", r.Severity, upperFirst(r.Title()), r.Text())
	for _, k := range r.Needs {
		fmt.Fprintf(&b, "- `%s`\n", k)
	}
	if len(r.Uses) > 0 {
		b.WriteString("\nAnd, as evidence, where it may:\n\n")
		for _, k := range r.Uses {
			fmt.Fprintf(&b, "- `%s`\n", k)
		}
	}
	b.WriteString("\n## Settings\n\n`enabled`, `severity`, `for`, `reportOnly`")
	for _, s := range r.Settings {
		fmt.Fprintf(&b, ", `%s`", s)
	}
	b.WriteString(". See [configuration](../configuration.md#all-keys).\n")
	return b.String()
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// flagsTable has the flags of a sweep, without those that kubectl has too.
func flagsTable() string {
	o := &sweepOptions{}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addFlags(flags)
	kubectl := connectionFlags()

	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || slices.Contains(kubectl, f.Name) {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, cell(f.Usage))
	})
	return b.String()
}

// configTable has every key of the config.
func configTable() string {
	var b strings.Builder
	b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, k := range config.Keys() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, cell(k.Type), cell(k.Default), cell(k.Doc))
	}
	return b.String()
}

// cell escapes text for a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// metricsTable has the metrics of sweeps, by name.
func metricsTable(t *testing.T) string {
	t.Helper()
	board := metrics.NewExporter("prod", metrics.LabelValues{Rules: []string{"r"}})
	board.Update(eventfulSweep())
	families, err := board.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| metric | labels beside `cluster` | meaning |\n|---|---|---|\n")
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "audit_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			if l.GetName() != "cluster" {
				labels = append(labels, "`"+l.GetName()+"`")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.GetName(), strings.Join(labels, ", "), cell(f.GetHelp()))
	}
	return b.String()
}

// eventfulSweep is a sweep with a value for every metric.
func eventfulSweep() *metrics.Sweep {
	record := func(state audit.State) audit.Transition {
		return audit.Transition{Record: audit.Record{
			Finding: audit.Finding{Rule: "r", Severity: rules.High, Owners: []string{"o"}, State: state},
			Reason:  audit.ReasonResolved, OpenedAt: today, ResolvedAt: today,
		}}
	}
	return &metrics.Sweep{
		Began: today, Ended: today,
		Result: &audit.Result{
			Reads:      []snapshot.Read{{Kind: snapshot.Pods, Status: snapshot.Listed}},
			Rules:      []audit.Outcome{{Rule: "r", Status: audit.RuleRan}},
			Exceptions: []audit.ExceptionUse{{Exception: config.Exception{Expires: config.Expiry{End: today}}}},
			Phases:     []audit.Phase{{Name: audit.PhaseRead, Took: time.Second}},
		},
		Published: &audit.Published{
			Transitions: []audit.Transition{record(audit.StateOpen), record(audit.StateResolved)},
			Deliveries:  []audit.Delivery{{Sender: "s", Result: audit.DeliverySent}},
		},
		Clients: []metrics.Client{{Name: "source"}},
	}
}

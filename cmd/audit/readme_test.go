package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// The parts of the README that come from the code are between two comments:
// <!-- NAME --> and <!-- /NAME -->. With -update they are written.

func TestREADMERules(t *testing.T) {
	t.Chdir(moduleRoot)
	checkREADME(t, "rules", rulesTable())
}

func TestREADMEFlags(t *testing.T) {
	t.Chdir(moduleRoot)
	checkREADME(t, "flags", flagsTable())
}

func TestREADMEConfig(t *testing.T) {
	t.Chdir(moduleRoot)
	checkREADME(t, "config", configTable())
}

// Examples that users copy from the README must be valid.
func TestREADMEConfigExamplesAreSound(t *testing.T) {
	data, err := os.ReadFile(moduleRoot + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## Config\n")
	section, _, _ = strings.Cut(section, "\n## ")
	examples := strings.Split(section, "```yaml\n")[1:]
	if len(examples) < 2 {
		t.Fatalf("%d examples found", len(examples))
	}
	for _, example := range examples {
		text, _, _ := strings.Cut(example, "```")
		c, err := config.Parse([]byte(text), "README.md", catalog.All())
		if err != nil {
			t.Errorf("%v", err)
		}
		if notes := c.Notes(today); len(notes) > 0 {
			t.Errorf("an example has notes: %s", strings.Join(notes, "; "))
		}
	}
}

func TestREADMEEstate(t *testing.T) {
	t.Chdir(moduleRoot)
	got := execute("--once", "--from", "testdata/estate")
	if got.code != exitFindings || got.stderr != "" {
		t.Fatalf("exit %d, standard error: %s", got.code, got.stderr)
	}
	checkREADME(t, "estate", "```\n"+got.stdout+"```\n")
}

// checkREADME compares a part of the README in the working folder with the text that
// the code generates.
func checkREADME(t *testing.T, name, want string) {
	t.Helper()
	const path = "README.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, got, after, err := between(data, name)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	want = "\n" + want + "\n" // a table needs blank lines around it
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

// between cuts a text at its two comments of that name, which stay in the text before
// and after the part.
func between(text []byte, name string) (before, part, after []byte, err error) {
	first, last := []byte("<!-- "+name+" -->\n"), []byte("<!-- /"+name+" -->")
	for _, mark := range [][]byte{first, last} {
		if n := bytes.Count(text, mark); n != 1 {
			return nil, nil, nil, fmt.Errorf("%q is there %d times, want once", mark, n)
		}
	}
	begin, end := bytes.Index(text, first)+len(first), bytes.Index(text, last)
	if begin > end {
		return nil, nil, nil, fmt.Errorf("%q comes before %q", last, first)
	}
	return text[:begin], text[begin:end], text[end:], nil
}

func rulesTable() string {
	var b strings.Builder
	b.WriteString("| rule | severity | invariant |\n|---|---|---|\n")
	for _, r := range catalog.All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Severity, cell(r.Title()))
	}
	return b.String()
}

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

// cell returns text as a cell of a table may have it.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

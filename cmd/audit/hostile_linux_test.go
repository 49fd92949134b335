package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/report"
)

// again repeats a text up to a size in bytes.
func again(text string, size int64) io.Reader {
	return io.LimitReader(&repeated{text: strings.Repeat(text, 1+(64<<10)/len(text))}, size)
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// manyRules are as many Ingresses in each of two namespaces, which claim the same hosts, with
// a rule for each host.
func manyRules(ingresses, rules int) io.Reader {
	var b strings.Builder
	for _, namespace := range []string{"shop", "blog"} {
		for n := range ingresses {
			fmt.Fprintf(&b, "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: many-%d, namespace: %s}\nspec:\n  rules:\n", n, namespace)
			for i := range rules {
				fmt.Fprintf(&b, "  - host: h%d-%d.example.com\n    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}\n", n, i)
			}
		}
	}
	return strings.NewReader(b.String())
}

// aliases are lists of lists, each of nine times the one before.
func aliases(levels int) string {
	text := "apiVersion: v1\nkind: Namespace\nl0: &l0 [a, a, a, a, a, a, a, a, a]\n"
	for i := range levels {
		text += fmt.Sprintf("l%d: &l%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i), 9), ", "))
	}
	return text
}

// TestHostileInputTakesBoundedMemory pipes input into the program that was made to
// exhaust it. The report names what cannot be read, the rest is evaluated, and the
// process's memory, as the kernel counts it, stays far below what the input could cause.
func TestHostileInputTakesBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads some hundred megabytes")
	}
	head := strings.NewReader
	const largeYAML = "document 2: it is larger than 8 MiB: use JSON (kubectl get -o json) or several YAML documents"
	// Without the race detector, which multiplies memory.
	program := buildAudit(t)
	// The kernel adds the memory of the parent at the start of a process to the peak,
	// and this process has much.
	launch := buildAt(t, "../../e2e/bench/launch")
	for _, c := range []struct {
		name     string
		in       func() io.Reader
		problem  string // empty: everything can be read
		findings int
		most     int64 // MiB
	}{
		{
			"a document of YAML of 100 MB, on many lines",
			func() io.Reader { return contested(head("x:\n"), again("- aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 100e6)) },
			largeYAML, 1, 200,
		},
		{
			"a document of YAML of 100 MB, on one line",
			func() io.Reader { return contested(head("x: "), again("a", 100e6)) },
			largeYAML, 1, 200,
		},
		{
			"the smallest of values, as many as are parsed at once",
			func() io.Reader {
				return contested(head("apiVersion: v1\nkind: Blob\nx: ["), again("a,", 8<<20-100), head("]\n"))
			},
			"", 1, 1300,
		},
		{
			"the smallest of values, more than are parsed at once",
			func() io.Reader { return contested(head("x: ["), again("a,", 60<<20), head("]\n")) },
			largeYAML, 1, 200,
		},
		{
			"a list of YAML of 60 MiB",
			func() io.Reader {
				return contested(head("apiVersion: v1\nkind: List\nitems:\n"), again("- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", 60<<20))
			},
			largeYAML, 1, 200,
		},
		{
			"aliases that make a few hundred bytes a quintillion",
			func() io.Reader { return contested(head(aliases(19))) },
			"document 2: parse YAML: aliases expand it to more than 64 MiB", 1, 200,
		},
		{
			"lists within lists without end",
			func() io.Reader { return contested(head("x: "), again("[", 5e6)) },
			"document 2: parse YAML: yaml: line 2: exceeded max depth of 10000", 1, 400,
		},
		{
			"a JSON value of 100 MB that is a stranger's",
			func() io.Reader {
				return io.MultiReader(head(`{"apiVersion":"example.com/v1","kind":"Blob","x":"`), again("a", 100e6), head(`"}`))
			},
			"", 0, 1000,
		},
		{
			"a JSON value without end",
			func() io.Reader { return io.MultiReader(head(`{"x":"`), again("a", 1e9)) },
			"document 1: it has more than 256 MiB; what follows was not read", 0, 1400,
		},
		{"ten Ingresses with as many rules as are read of one", func() io.Reader { return manyRules(5, 2_000) }, "", 10_000, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, peak := pipedSweep(t, launch, program, c.in())
			t.Logf("%d MiB", peak)
			if peak > c.most {
				t.Errorf("it took %d MiB of memory, want at most %d", peak, c.most)
			}
			var problems []string
			for _, p := range r.Problems {
				problems = append(problems, p.Where+": "+p.Reason)
			}
			if got := strings.Join(problems, "; "); !strings.HasSuffix(got, c.problem) || (got == "") != (c.problem == "") {
				t.Errorf("the problems are %q, want %q", got, c.problem)
			}
			if r.Complete != (c.problem == "") || len(r.Findings) != c.findings {
				t.Errorf("complete: %t, findings: %d, want %d", r.Complete, len(r.Findings), c.findings)
			}
		})
	}
}

// pipedSweep runs a program over its standard input, and returns its report and
// its peak memory in MiB.
func pipedSweep(t *testing.T, launch, program string, in io.Reader) (*report.Report, int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cost := filepath.Join(t.TempDir(), "cost")
	cmd := exec.CommandContext(ctx, launch, "-to", cost,
		program, "--once", "--from", "-", "--rule", "one-owner-per-host", "-o", "json", "--fail-on", "none")
	cmd.Env = []string{"HOME=" + t.TempDir()}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	err := cmd.Run()
	var r report.Report
	if json.Unmarshal(out.Bytes(), &r) != nil || errs.Len() > 0 {
		t.Fatalf("no report: %v: %s", err, errs.Bytes())
	}
	want := 0
	if !r.Complete {
		want = exitIncomplete
	}
	var took struct {
		Peak int64
		Code int
	}
	data, err := os.ReadFile(cost)
	if err != nil || json.Unmarshal(data, &took) != nil {
		t.Fatalf("its memory is unknown: %v: %s", err, data)
	}
	if took.Code != want {
		t.Errorf("exit %d, want %d", took.Code, want)
	}
	return &r, took.Peak >> 20
}

// configMaps are ConfigMaps, of which a sweep keeps nothing, up to a size in bytes.
func configMaps(size int, format string) io.Reader {
	text := fmt.Sprintf(format, "v1", "ConfigMap")
	return again(text, int64(size/len(text)*len(text)))
}

// TestManyObjectsTakeAsMuchAsTheirText pipes many small objects into the program,
// none of which it keeps. The process needs at most a small multiple of their text,
// while a tree of them would need forty times as much.
func TestManyObjectsTakeAsMuchAsTheirText(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads some ten megabytes of YAML")
	}
	program, launch := buildAudit(t), buildAt(t, "../../e2e/bench/launch")
	const (
		yaml = "apiVersion: %s\n  kind: %s\n  metadata:\n    name: settings\n    labels: {app: web}\n  data: {a: \"1\", b: \"2\"}\n"
		json = `{"apiVersion":"%s","kind":"%s","metadata":{"name":"settings","labels":{"app":"web"}},"data":{"a":"1","b":"2"}}`
	)
	head := strings.NewReader
	for _, c := range []struct {
		name string
		in   io.Reader
		most int64 // MiB
	}{
		{"documents of YAML", configMaps(8<<20, "---\n  "+yaml), 110},
		{"values of JSON", configMaps(32<<20, json+"\n"), 110},
		{"a list of JSON", io.MultiReader(head(`{"apiVersion":"v1","items":[`), configMaps(32<<20, json+",\n"), head(`{"apiVersion":"v1","kind":"Secret"}],"kind":"List"}`)), 220},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, peak := pipedSweep(t, launch, program, c.in)
			t.Logf("%d MiB", peak)
			if peak > c.most {
				t.Errorf("it took %d MiB of memory, want at most %d", peak, c.most)
			}
			if !r.Complete || len(r.Ignored) == 0 || r.Ignored[0].Items < 50_000 {
				t.Errorf("complete: %t, problems: %v, ignored: %+v", r.Complete, r.Problems, r.Ignored)
			}
		})
	}
}

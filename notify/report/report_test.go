package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/visible"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func write(t *testing.T, format Format, res *audit.Result, opts Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, format, res, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteIncompleteNeverReadsLikeClean(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(*audit.Result)
	}{
		{"a kind is forbidden", func(r *audit.Result) { r.Reads[1].Status = snapshot.Forbidden }},
		{"a kind failed", func(r *audit.Result) { r.Reads[1].Status, r.Reads[1].Err = snapshot.Failed, "EOF" }},
		{"a document does not parse", func(r *audit.Result) { r.Problems = []audit.Problem{{Where: "a.yaml", Reason: "bad"}} }},
		{"a rule was skipped", func(r *audit.Result) { r.Rules[0].Status = audit.RuleSkipped }},
		{"a rule failed", func(r *audit.Result) { r.Rules[0].Status, r.Rules[0].Reason = audit.RuleFailed, "panic" }},
		{"nothing could be read", func(r *audit.Result) { *r = *forbiddenResult() }},
	} {
		for _, format := range []Format{Table, Wide} {
			t.Run(row.name+", "+string(format), func(t *testing.T) {
				res := cleanResult()
				row.spoil(res)
				out := write(t, format, res, Options{})
				if !strings.HasPrefix(out, "INCOMPLETE") {
					t.Errorf("does not begin with INCOMPLETE:\n%s", out)
				}
				parts := strings.Split(strings.TrimSpace(out), "\n\n")
				if last := parts[len(parts)-1]; !strings.HasPrefix(last, "INCOMPLETE") {
					t.Errorf("does not end with INCOMPLETE:\n%s", out)
				}
				if strings.Contains(out, "clean") || strings.Contains(out, "no findings") {
					t.Errorf("sounds clean:\n%s", out)
				}
			})
		}
	}
}

func TestWriteCleanIsOneLine(t *testing.T) {
	for _, width := range []int{0, MinWidth, 60, 80, 200} {
		out := write(t, Table, cleanResult(), Options{Width: width})
		if strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "clean: ") || !strings.Contains(out, "586 objects") && !strings.Contains(out, "340 pods") {
			t.Errorf("width %d: %q", width, out)
		}
	}
}

func TestWriteNothingIsNotClean(t *testing.T) {
	for _, res := range []*audit.Result{{}, {Rules: cleanResult().Rules}} {
		if out := write(t, Table, res, Options{}); strings.Contains(out, "clean") {
			t.Errorf("%q", out)
		}
	}
}

// A folder of rollouts or virtual machines must not look evaluated.
func TestWriteOnlyOtherWorkloadsIsNotClean(t *testing.T) {
	others := func(workloads int) *audit.Result {
		res := cleanResult()
		for i := range res.Reads {
			if res.Reads[i].Kind == snapshot.Pods || slices.Contains(snapshot.WorkloadKinds(), res.Reads[i].Kind) {
				res.Reads[i].Items = 0
			}
			if res.Reads[i].Kind == snapshot.Deployments {
				res.Reads[i].Items = workloads
			}
		}
		res.Ignored = []audit.IgnoredKind{
			{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout", RunsPods: true, Items: 2},
			{Version: "v1", Kind: "Service", Items: 3},
			{Group: "kubevirt.io", Version: "v1", Kind: "VirtualMachine", RunsPods: true, Items: 1},
		}
		return res
	}
	const kinds = "2 Rollout, 1 VirtualMachine"
	out := write(t, Table, others(0), Options{})
	if !strings.HasPrefix(out, "not evaluated: all workloads are of kinds that are not evaluated ("+kinds+")") || strings.Contains(out, "clean") {
		t.Errorf("%q", out)
	}
	found := others(0)
	found.Findings = brokenResult().Findings[:1]
	if out := strings.Join(strings.Fields(write(t, Table, found, Options{})), " "); !strings.Contains(out, "no workload evaluated, all are of other kinds ("+kinds+")") {
		t.Errorf("%q", out)
	}
	if out := write(t, Table, others(1), Options{}); !strings.HasPrefix(out, "clean: ") {
		t.Errorf("%q", out)
	}
	// No rule evaluates workloads.
	hosts := others(0)
	hosts.Reads = slices.DeleteFunc(hosts.Reads, func(r snapshot.Read) bool {
		return r.Kind == snapshot.Pods || slices.Contains(snapshot.WorkloadKinds(), r.Kind)
	})
	if out := write(t, Table, hosts, Options{}); !strings.HasPrefix(out, "clean: ") {
		t.Errorf("%q", out)
	}
}

// A chart that was not rendered has hundreds of problems with one reason.
func TestWriteGroupsProblems(t *testing.T) {
	res := cleanResult()
	for i := range 40 {
		res.Problems = append(res.Problems, audit.Problem{Where: fmt.Sprintf("%02d.yaml", i), Reason: fmt.Sprintf("parse YAML: line %d", i), Like: "parse YAML"})
	}
	for i := range 2 {
		res.Problems = append(res.Problems, audit.Problem{Where: fmt.Sprintf("ingress-%d.yaml", i), Reason: "looks like a template", Kind: "Ingress"})
	}
	res.Problems = append(res.Problems, audit.Problem{Where: "once.yaml", Reason: "it is not a mapping"})
	out := write(t, Table, res, Options{})
	var got []string
	for line := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(line, "  problem    "); ok {
			got = append(got, strings.TrimSpace(text))
		}
	}
	want := []string{
		"ingress-0.yaml: looks like a template (and 1 more like this; -o wide shows all)",
		"00.yaml: parse YAML: line 0 (and 39 more like this; -o wide shows all)",
		"once.yaml: it is not a mapping",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if n := strings.Count(write(t, Wide, res, Options{}), "  problem    "); n != 43 {
		t.Errorf("wide output has %d problems", n)
	}
}

func TestWriteColorAddsOnlyColor(t *testing.T) {
	sequence := regexp.MustCompile(`\x1b\[[0-9;]+m`)
	for _, res := range []*audit.Result{cleanResult(), brokenResult(), incompleteResult(), hostileResult()} {
		for _, format := range []Format{Table, Wide} {
			plain := write(t, format, res, Options{Width: 80})
			colored := write(t, format, res, Options{Width: 80, Color: true})
			if sequence.ReplaceAllString(colored, "") != plain {
				t.Errorf("%s: color changes the text", format)
			}
		}
	}
}

// A table has no objects, and wide output has all of them.
func TestWriteLimitsOnlyTable(t *testing.T) {
	res := brokenResult()
	f := &res.Findings[0]
	for len(f.Objects) < 43 {
		f.Objects = append(f.Objects, f.Objects[0])
	}
	if out := write(t, Table, res, Options{}); strings.Contains(out, "payments/api") {
		t.Errorf("the table has objects:\n%s", out)
	}
	if out := write(t, Wide, res, Options{}); strings.Count(out, "payments/api") != 42 || strings.Contains(out, "more") {
		t.Errorf("wide omits something:\n%s", out)
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("ParseFormat(%q) = %q, %v", f, got, err)
		}
	}
	_, err := ParseFormat("xml")
	if want := `unknown output format "xml", must be one of table, wide, json, yaml`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestWriteErrors(t *testing.T) {
	if err := Write(fullDisk{}, JSON, cleanResult(), Options{}); !errors.Is(err, errFull) {
		t.Errorf("the error of the writer is lost: %v", err)
	}
	var out bytes.Buffer
	if err := Write(&out, "xml", cleanResult(), Options{}); err == nil || out.Len() > 0 {
		t.Errorf("unknown format: %v, wrote %q", err, out.String())
	}
}

var update = flag.Bool("update", false, "write the golden files instead of comparing them")

// golden is a report whose text is in testdata and reviewed by people.
type golden struct {
	name   string
	format Format
	res    *audit.Result
	opts   Options
}

func goldens() []golden {
	long := strings.Repeat("n", 120) + "." + strings.Repeat("m", 120) + ".example.com"
	onlyAdvisories := brokenResult()
	onlyAdvisories.Findings = nil
	empty := cleanResult()
	for i := range empty.Reads {
		empty.Reads[i].Items = 0
	}
	unruled := &audit.Result{Started: swept, Finished: swept.Add(time.Second)}

	return []golden{
		{"clean.txt", Table, cleanResult(), Options{Width: 140}},
		{"clean-80.txt", Table, cleanResult(), Options{Width: 80}},
		{"clean-wide.txt", Wide, cleanResult(), Options{Width: 100}},
		{"clean-with-advisories.txt", Table, onlyAdvisories, Options{Width: 100}},
		{"empty.txt", Table, empty, Options{Width: 100}},
		{"no-rule.txt", Table, unruled, Options{Width: 100}},
		{"broken-60.txt", Table, brokenResult(), Options{Width: 60}},
		{"broken-80.txt", Table, brokenResult(), Options{Width: 80}},
		{"broken-100.txt", Table, brokenResult(), Options{}},
		{"broken-140.txt", Table, brokenResult(), Options{Width: 140}},
		{"broken-color.txt", Table, brokenResult(), Options{Width: 100, Color: true}},
		{"broken-wide.txt", Wide, brokenResult(), Options{Width: 100}},
		{"broken.json", JSON, brokenResult(), Options{}},
		{"broken.yaml", YAML, brokenResult(), Options{}},
		{"delivered.txt", Table, deliveredResult(brokenResult()), Options{Width: 100}},
		{"delivered-clean.txt", Table, deliveredResult(cleanResult()), Options{Width: 100}},
		{"delivered.json", JSON, deliveredResult(cleanResult()), Options{}},
		{"incomplete.txt", Table, incompleteResult(), Options{Width: 100}},
		{"incomplete.json", JSON, incompleteResult(), Options{}},
		{"forbidden.txt", Table, forbiddenResult(), Options{Width: 100}},
		{"no-server.txt", Table, noServerResult(), Options{Width: 100}},
		{"no-server-wide.txt", Wide, noServerResult(), Options{Width: 100}},
		{"hostile.txt", Table, hostileResult(), Options{Width: 100}},
		{"hostile-wide.txt", Wide, hostileResult(), Options{Width: 100}},
		{"hostile.json", JSON, hostileResult(), Options{}},
		{"hostile.yaml", YAML, hostileResult(), Options{}},
		{"long-names.txt", Table, namesResult(long[:253], "team-a", long[:253], strings.Repeat("o", 63)), Options{Width: 100}},
		{"long-names-60.txt", Table, namesResult(long[:253], "team-a", long[:253], strings.Repeat("o", 63)), Options{Width: 60}},
		{"long-names-wide.txt", Wide, namesResult(long[:253], "team-a", long[:253], strings.Repeat("o", 63)), Options{Width: 100}},
		{"wide-characters.txt", Table, namesResult("xn--fsq.example", "商店", "店舗フロントエンド", "プラットフォーム"), Options{Width: 100}},
		{"wide-characters-60.txt", Table, namesResult("xn--fsq.example", "商店", "店舗フロントエンド", "e\u0301quipe-cafe\u0301"), Options{Width: 60}},
	}
}

func TestWriteGolden(t *testing.T) {
	for _, row := range goldens() {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, row.format, row.res, row.opts); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", row.name)
			if *update {
				if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("(-golden +got)\n%s", diff)
			}
		})
	}
}

// harmless fails the test if the text contains anything but visible characters.
func harmless(t *testing.T, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Error("output is not UTF-8")
	}
	for _, r := range out {
		if r != '\n' && !visible.Rune(r) {
			t.Errorf("U+%04X in the output", r)
		}
	}
}

// fits fails the test if a line of a table is too wide, or if text from the cluster is
// not indented.
func fits(t *testing.T, out string, width int) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if n := columns(shown(line)); n > width {
			t.Errorf("%d columns instead of %d: %q", n, width, line)
		}
		ours := line == "" || strings.HasPrefix(line, "  ")
		for _, word := range []string{"SEV  ", "high  ", "med  ", "low  ", "ADVISORY  ", "COMPLETE  ", "INCOMPLETE  ", "SUMMARY  ", "OWNERS  ", "NEXT  "} {
			ours = ours || strings.HasPrefix(line, word)
		}
		if !ours {
			t.Errorf("text at the left edge: %q", line)
		}
		if strings.HasSuffix(line, " ") {
			t.Errorf("blank at the end of %q", line)
		}
	}
}

// filledWith returns a result that has the text in every string.
func filledWith(text string) *audit.Result {
	res := namesResult(text, text, text, text)
	f := &res.Findings[0]
	f.Rule, f.Verdict, f.State, f.Message, f.Cause, f.Remedy = text, text, audit.State(text), text, text, text
	f.Subject.Kind, f.Subject.Detail = text, text
	f.Objects[0].Kind, f.Objects[0].Detail, f.Objects[1].Reason, f.Objects[1].Detail = text, text, text, ""
	res.Advisories = []audit.Advisory{{Rule: text, Subject: f.Subject, Owners: f.Owners, Message: text, Objects: f.Objects}}
	res.Problems = []audit.Problem{{Where: text, Reason: text}}
	res.Rules[0] = audit.Outcome{Rule: text, Status: audit.OutcomeStatus(text), Reason: text}
	res.Reads[0] = snapshot.Read{Kind: snapshot.Kind(text), Status: snapshot.Failed, Err: text}
	res.Cluster = text
	return res
}

func FuzzWrite(f *testing.F) {
	for _, h := range hostile() {
		f.Add(h, 80)
	}
	f.Add(strings.Repeat("商", 130), 60)
	f.Add(strings.Repeat("n", 253), 40)
	f.Add("clean: no findings "+strings.Repeat("clean: ", 40), 100)
	f.Fuzz(func(t *testing.T, text string, width int) {
		res := filledWith(text)
		width = MinWidth + (width%200+200)%200
		out := write(t, Table, res, Options{Width: width})
		harmless(t, out)
		fits(t, out, width)
		harmless(t, write(t, Wide, res, Options{Width: width}))
		sameDocument(t, res)
	})
}

// TestWriteRandom does what the fuzzer does in every test run, with text that is more
// likely to cause trouble.
func TestWriteRandom(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, seed))
	pool := []rune("ab-./ \\:x01;,\n\r\t\x1b\x00\x7f\u009b\u202e\u2066\u200f\u200b\ufeff\u2028\u0301\u0301e商Ａｱ🚢\ue000\U000e0041\u00a0\ufffd")
	for i := range 100 {
		var b strings.Builder
		for range rng.IntN(60) * rng.IntN(6) {
			if rng.IntN(40) == 0 {
				b.WriteByte(byte(rng.IntN(256)))
			} else {
				b.WriteRune(pool[rng.IntN(len(pool))])
			}
		}
		text, width := b.String(), MinWidth+rng.IntN(160)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			res := filledWith(text)
			out := write(t, Table, res, Options{Width: width})
			harmless(t, out)
			fits(t, out, width)
			harmless(t, write(t, Wide, res, Options{Width: width}))
			sameDocument(t, res)
			if t.Failed() {
				t.Logf("text %q, width %d", text, width)
			}
		})
	}
}

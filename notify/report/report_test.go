package report

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit"
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

func TestWriteNeverCallsIncompleteClean(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(*audit.Result)
	}{
		{"a kind is forbidden", func(r *audit.Result) { r.Reads[1].Status = snapshot.Forbidden }},
		{"a kind failed", func(r *audit.Result) { r.Reads[1].Status, r.Reads[1].Err = snapshot.Failed, "EOF" }},
		{"a document does not parse", func(r *audit.Result) { r.Problems = []audit.Problem{{Where: "a.yaml", Reason: "bad"}} }},
		{"a rule was skipped", func(r *audit.Result) { r.Rules[0].Status = audit.RuleSkipped }},
		{"a rule failed", func(r *audit.Result) { r.Rules[0].Status, r.Rules[0].Reason = audit.RuleFailed, "panic" }},
		{"nothing could be read", func(r *audit.Result) { *r = *blindResult() }},
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

func TestWriteColorAddsOnlyColor(t *testing.T) {
	sequence := regexp.MustCompile(`\x1b\[[0-9;]+m`)
	for _, res := range []*audit.Result{cleanResult(), brokenResult(), incompleteResult(), hostileResult()} {
		for _, format := range []Format{Table, Wide} {
			plain := write(t, format, res, Options{Width: 80})
			colored := write(t, format, res, Options{Width: 80, Color: true})
			if sequence.ReplaceAllString(colored, "") != plain {
				t.Errorf("%s: colour changes more than colour", format)
			}
		}
	}
}

func TestWriteLimitsOnlyTable(t *testing.T) {
	res := brokenResult()
	f := &res.Findings[0]
	for len(f.Objects) < maxObjects+3 {
		f.Objects = append(f.Objects, f.Objects[0])
	}
	if out := write(t, Table, res, Options{}); !strings.Contains(out, "    and 3 more (-o wide shows all)\n") {
		t.Errorf("table does not say how much it leaves out:\n%s", out)
	}
	if out := write(t, Wide, res, Options{}); strings.Count(out, "payments/api") != maxObjects+2 || strings.Contains(out, "more") {
		t.Errorf("wide leaves something out:\n%s", out)
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("ParseFormat(%q) = %q, %v", f, got, err)
		}
	}
	_, err := ParseFormat("xml")
	if want := `output format "xml" is none of table, wide, json, yaml`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestWriteErrors(t *testing.T) {
	if err := Write(fullDisk{}, JSON, cleanResult(), Options{}); !errors.Is(err, errFull) {
		t.Errorf("error of the writer is lost: %v", err)
	}
	var out bytes.Buffer
	if err := Write(&out, "xml", cleanResult(), Options{}); err == nil || out.Len() > 0 {
		t.Errorf("unknown format: %v, wrote %q", err, out.String())
	}
}

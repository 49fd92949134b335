package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden is a report whose text is kept in testdata and reviewed by eye.
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
		{"told.txt", Table, toldResult(brokenResult()), Options{Width: 100}},
		{"told-clean.txt", Table, toldResult(cleanResult()), Options{Width: 100}},
		{"told.json", JSON, toldResult(cleanResult()), Options{}},
		{"incomplete.txt", Table, incompleteResult(), Options{Width: 100}},
		{"incomplete.json", JSON, incompleteResult(), Options{}},
		{"blind.txt", Table, blindResult(), Options{Width: 100}},
		{"alone.txt", Table, aloneResult(), Options{Width: 100}},
		{"alone-wide.txt", Wide, aloneResult(), Options{Width: 100}},
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

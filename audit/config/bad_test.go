package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
)

// Each file in testdata/bad has its errors beside it, one a line, in a .txt that
// is edited by hand and never written by a test.
func TestParseBad(t *testing.T) {
	for _, path := range files(t, "testdata/bad/*.yaml") {
		name := filepath.Base(path)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".yaml") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			c, err := config.Parse(data, name, ruleSet())
			if err == nil {
				t.Fatal("nothing was found wrong")
			}
			if diff := cmp.Diff(config.Config{}, c); diff != "" {
				t.Errorf("a config was returned beside the error:\n%s", diff)
			}
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			for _, e := range each(t, err) {
				if e.At.File != name || e.At.Line == 0 || e.At.Line > strings.Count(string(data), "\n")+1 {
					t.Errorf("an error names no line of the file: %s", e)
				}
			}
		})
	}
}

// each returns the errors that Parse joined.
func each(t *testing.T, err error) []*config.Error {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("the error is not joined: %v", err)
	}
	var errs []*config.Error
	for _, one := range joined.Unwrap() {
		var e *config.Error
		if !errors.As(one, &e) {
			t.Fatalf("an error has no position: %v", one)
		}
		errs = append(errs, e)
	}
	return errs
}

func TestParseNotText(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a byte that is not UTF-8", "cluster: a\nowners: {fallback: \xff}\n", "c.yaml:2: is not UTF-8 text"},
		{"UTF-16", "\xff\xfea\x00", "c.yaml:1: is not UTF-8 text"},
		{"a control character", "cluster: a\nowners: {fallback: \x01}\n", "c.yaml:2: not YAML: control characters are not allowed"},
		{"nested without end", strings.Repeat("[", 20000), "c.yaml:1: not YAML: exceeded max depth of 10000"},
		{"too large", strings.Repeat("#", config.MaxSize+1), "c.yaml: is larger than 1024 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Parse([]byte(c.data), "c.yaml", ruleSet())
			if got := fmt.Sprint(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParseAtTheSizeLimit(t *testing.T) {
	if _, err := config.Parse([]byte(strings.Repeat("#", config.MaxSize)), "c.yaml", ruleSet()); err != nil {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.yaml")
	if err := os.WriteFile(path, []byte("cluster: prod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := config.Read(path, ruleSet()); err != nil || c.Cluster != "prod" {
		t.Errorf("got cluster %q and error %v, want prod and none", c.Cluster, err)
	}
	if err := os.WriteFile(path, []byte("clustre: prod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Read(path, ruleSet()); err == nil || !strings.HasPrefix(err.Error(), path+":1: ") {
		t.Errorf("the error does not name the file as it was given: %v", err)
	}
	_, err := config.Read(filepath.Join(dir, "absent.yaml"), ruleSet())
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "\n") {
		t.Errorf("an absent file is not told in one line that wraps its cause: %v", err)
	}
	if _, err := config.Read(dir, ruleSet()); err == nil {
		t.Error("a folder was read as a config")
	}
}

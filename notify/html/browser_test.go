package html_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/html"
)

// chromium runs the browser without a screen on a page and returns its standard output. A
// machine without a browser skips the test; with AUDIT_REQUIRE_TOOLS it fails.
func chromium(t *testing.T, path, fragment string, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	binary, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("AUDIT_REQUIRE_TOOLS") != "" {
			t.Fatal("chromium is not installed")
		}
		t.Skip("chromium is not installed")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	args = append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + t.TempDir(),
		"--window-size=1200,1000", "--virtual-time-budget=10000",
	}, args...)
	out, err := exec.CommandContext(ctx, binary, append(args, "file://"+path+fragment)...).Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return string(out)
}

func written(t *testing.T, n int, texts []string) string {
	t.Helper()
	var out bytes.Buffer
	if err := html.Write(&out, estate(n, texts)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The script runs under the page's own policy, and the fragment keeps the filters.
func TestBrowserFilters(t *testing.T) {
	path := written(t, 40, hostile())
	for _, c := range []struct{ says, fragment, want string }{
		{"all rows", "", "55 rows"},
		{"of one owner", "#owner=team-03", "2 of 55 rows"},
		{"of one severity and a text", "#severity=high&q=ns-0000", "3 of 55 rows"},
		{"of a hostile text", "#q=onmouseover", "1 of 55 rows"},
	} {
		t.Run(c.says, func(t *testing.T) {
			dom := chromium(t, path, c.fragment, "--dump-dom")
			if !strings.Contains(dom, ">"+c.want+"</output>") {
				i := strings.Index(dom, "<output")
				t.Errorf("the page does not say %q but %.200s", c.want, dom[max(i, 0):])
			}
			if strings.Contains(dom, "<title>owned") {
				t.Error("a text of the cluster ran")
			}
		})
	}
}

// Light is light, dark is dark, and both show something.
func TestBrowserShowsBothSchemes(t *testing.T) {
	path := written(t, 3, nil)
	for scheme, light := range map[string]bool{"light": true, "dark": false} {
		shot := filepath.Join(t.TempDir(), scheme+".png")
		args := []string{"--screenshot=" + shot}
		if !light {
			args = append(args, "--blink-settings=preferredColorScheme=0")
		}
		chromium(t, path, "", args...)
		f, err := os.Open(shot)
		if err != nil {
			t.Fatal(err)
		}
		picture, _, err := image.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		corner := color.GrayModel.Convert(picture.At(2, 2)).(color.Gray).Y
		if light != (corner > 128) {
			t.Errorf("%s: the background has brightness %d", scheme, corner)
		}
		seen := map[color.Color]bool{}
		for y := 0; y < picture.Bounds().Dy(); y += 3 {
			for x := 0; x < picture.Bounds().Dx(); x += 3 {
				seen[picture.At(x, y)] = true
			}
		}
		if len(seen) < 20 {
			t.Errorf("%s: the page shows %d colors only", scheme, len(seen))
		}
	}
}

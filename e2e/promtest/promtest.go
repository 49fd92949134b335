// Package promtest runs Prometheus, a Pushgateway and promtool for tests. They come from
// the Debian packages prometheus and prometheus-pushgateway and must be on the PATH. If
// one is missing, the test is skipped; with AUDIT_REQUIRE_TOOLS set it fails.
package promtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// requireTools is the environment variable that makes a test fail if a tool is missing.
const requireTools = "AUDIT_REQUIRE_TOOLS"

// tool returns the path of a program, or skips or fails the test.
func tool(t testing.TB, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv(requireTools) != "":
		t.Fatalf("%s is not on the PATH: install Debian's %s", name, debian)
	default:
		t.Skipf("needs %s: install Debian's %s", name, debian)
	}
	return ""
}

// Promtool runs promtool with the given standard input and returns its output.
func Promtool(t testing.TB, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, "promtool", "prometheus"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startTime is how long a program may take to become ready, and stopTime to end.
const (
	startTime = 30 * time.Second
	stopTime  = 10 * time.Second
)

var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// start runs a server on a free port until the test ends, and returns its URL.
func start(t testing.TB, path string, args ...string) string {
	t.Helper()
	log := &output{}
	cmd := exec.Command(path, append(args, "--web.listen-address=127.0.0.1:0")...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // the log contains the reason
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
		select {
		case <-done:
		case <-time.After(stopTime):
			_ = cmd.Process.Kill()
			<-done
		}
	})
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := listening.FindStringSubmatch(log.String()); found != nil {
			url := "http://" + found[1]
			await(t, url+"/-/ready", end)
			return url
		}
		select {
		case <-done:
			t.Fatalf("%s ended:\n%s", path, log)
		default:
		}
	}
	t.Fatalf("%s does not listen after %s:\n%s", path, startTime, log)
	return ""
}

// await waits until a URL answers with 200.
func await(t testing.TB, url string, end time.Time) {
	t.Helper()
	for time.Now().Before(end) {
		if code, _ := get(t.Context(), url); code == http.StatusOK {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not answer", url)
}

// get returns the status and the body of a response, or zero and the error.
func get(ctx context.Context, url string) (int, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// Pushgateway is a Pushgateway that runs until the test ends.
type Pushgateway struct {
	URL string
	t   testing.TB
}

// StartPushgateway starts an empty Pushgateway. Debian's default settings would keep
// the data of earlier runs.
func StartPushgateway(t testing.TB) *Pushgateway {
	t.Helper()
	path := tool(t, "prometheus-pushgateway", "prometheus-pushgateway")
	return &Pushgateway{URL: start(t, path, "--persistence.file="+filepath.Join(t.TempDir(), "data")), t: t}
}

// Text returns all metrics in the text format of Prometheus.
func (p *Pushgateway) Text() string {
	p.t.Helper()
	code, text := get(p.t.Context(), p.URL+"/metrics")
	if code != http.StatusOK {
		p.t.Fatalf("the Pushgateway answered with status %d: %s", code, text)
	}
	return text
}

// Series returns the pushed series of the job audit with their values, sorted, without
// those that the Pushgateway adds.
func (p *Pushgateway) Series() []string {
	p.t.Helper()
	var out []string
	for line := range strings.Lines(p.Text()) {
		if strings.Contains(line, `job="audit"`) && !strings.HasPrefix(line, "push_") {
			// Every pushed series has this empty label.
			out = append(out, strings.ReplaceAll(strings.TrimSpace(line), `instance="",`, ""))
		}
	}
	slices.Sort(out)
	return out
}

// Prometheus is a Prometheus that runs until the test ends.
type Prometheus struct {
	URL string
	t   testing.TB
}

// StartPrometheus starts a Prometheus that scrapes the targets every second, with the
// settings that the documents recommend for a Pushgateway, and evaluates the rules in
// the given file, if any.
func StartPrometheus(t testing.TB, rules string, targets ...string) *Prometheus {
	t.Helper()
	path := tool(t, "prometheus", "prometheus")
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("global: {scrape_interval: 1s, evaluation_interval: 1s}\n")
	if rules != "" {
		fmt.Fprintf(&b, "rule_files: [%q]\n", rules)
	}
	b.WriteString("scrape_configs:\n- job_name: pushgateway\n  honor_labels: true\n  static_configs:\n")
	for _, target := range targets {
		fmt.Fprintf(&b, "  - targets: [%q]\n", strings.TrimPrefix(target, "http://"))
	}
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	url := start(t, path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"))
	return &Prometheus{URL: url, t: t}
}

// Sample is a series of a query result with its last value.
type Sample struct {
	Metric map[string]string
	Value  string
}

// answer is the response of the API to a query.
type answer struct {
	Status, Error string
	Data          struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
			Values [][2]any
		}
	}
}

// Query evaluates an expression now.
func (p *Prometheus) Query(expr string) ([]Sample, error) {
	return p.ask("/api/v1/query", url.Values{"query": {expr}})
}

// QueryRange evaluates an expression over the last minutes.
func (p *Prometheus) QueryRange(expr string, minutes int) ([]Sample, error) {
	// Times are whole seconds; include what was scraped just now.
	now := time.Now().Add(time.Second)
	at := func(t time.Time) []string { return []string{fmt.Sprint(t.Unix())} }
	return p.ask("/api/v1/query_range", url.Values{
		"query": {expr}, "start": at(now.Add(-time.Duration(minutes) * time.Minute)), "end": at(now), "step": {"1"},
	})
}

func (p *Prometheus) ask(path string, query url.Values) ([]Sample, error) {
	_, text := get(p.t.Context(), p.URL+path+"?"+query.Encode())
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return nil, fmt.Errorf("decode response of Prometheus: %w: %s", err, text)
	}
	if a.Status != "success" {
		return nil, fmt.Errorf("query Prometheus: %s", a.Error)
	}
	var out []Sample
	for _, r := range a.Data.Result {
		last := r.Value
		if len(r.Values) > 0 {
			last = r.Values[len(r.Values)-1]
		}
		out = append(out, Sample{Metric: r.Metric, Value: fmt.Sprint(last[1])})
	}
	return out, nil
}

// Await waits until an expression has a result.
func (p *Prometheus) Await(expr string) {
	p.t.Helper()
	var got []Sample
	var err error
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if got, err = p.Query(expr); err == nil && len(got) > 0 {
			return
		}
	}
	p.t.Fatalf("no result of %s after %s: %v", expr, startTime, err)
}

package promtest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Prometheus is a Prometheus that runs until the test ends.
type Prometheus struct {
	URL string
	t   testing.TB
}

// StartPrometheus starts one that scrapes the given targets every second, the way
// the README says to scrape a Pushgateway, and evaluates rules, if there are any.
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

// Sample is one series of an answer with its last value.
type Sample struct {
	Metric map[string]string
	Value  string
}

// answer is what the API says to a query.
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
	// Times are told in whole seconds, and what was scraped just now counts.
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
		return nil, fmt.Errorf("decode answer of Prometheus: %w: %s", err, text)
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
	p.t.Fatalf("Prometheus has nothing for %s after %s: %v", expr, startTime, err)
}

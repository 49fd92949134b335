package promtest

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Pushgateway is a Pushgateway that runs until the test ends.
type Pushgateway struct {
	URL string
	t   testing.TB
}

// StartPushgateway starts one that is empty. As Debian has it, one would remember
// what was pushed to those before it.
func StartPushgateway(t testing.TB) *Pushgateway {
	t.Helper()
	path := tool(t, "prometheus-pushgateway", "prometheus-pushgateway")
	return &Pushgateway{URL: start(t, path, "--persistence.file="+filepath.Join(t.TempDir(), "data")), t: t}
}

// Text returns its metrics as Prometheus reads them.
func (p *Pushgateway) Text() string {
	p.t.Helper()
	code, text := get(p.t.Context(), p.URL+"/metrics")
	if code != http.StatusOK {
		p.t.Fatalf("the Pushgateway answers %d: %s", code, text)
	}
	return text
}

// Series returns the series that were pushed, with their values, sorted: those
// whose job is audit, but for what the gateway adds of its own.
func (p *Pushgateway) Series() []string {
	p.t.Helper()
	var out []string
	for line := range strings.Lines(p.Text()) {
		if strings.Contains(line, `job="audit"`) && !strings.HasPrefix(line, "push_") {
			// The label that every pushed series has says nothing.
			out = append(out, strings.ReplaceAll(strings.TrimSpace(line), `instance="",`, ""))
		}
	}
	slices.Sort(out)
	return out
}

package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/e2e/promtest"
	"github.com/eventuallytrue/audit/notify/metrics"
)

func TestEveryPanelHasDataOfARealPrometheus(t *testing.T) {
	gw := promtest.StartPushgateway(t)
	now := time.Now()
	for _, cluster := range []string{"prod", "staging"} {
		g := gateway(t, metrics.Options{URL: gw.URL}, cluster)
		push(t, g, broken(now.Add(-10*time.Minute)))
		push(t, g, halfMended(now))
	}
	p := promtest.StartPrometheus(t, "", gw.URL)
	p.Await(`audit_last_success_timestamp_seconds{cluster="staging"}`)
	ask := func(expr, cluster string, instant bool) []promtest.Sample {
		t.Helper()
		expr = strings.ReplaceAll(expr, "$cluster", cluster)
		var got []promtest.Sample
		var err error
		if instant {
			got, err = p.Query(expr)
		} else {
			got, err = p.QueryRange(expr, 1)
		}
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		}
		return got
	}
	drawn := map[string][]promtest.Sample{}
	for _, panel := range panels(t) {
		for i, q := range panel.Targets {
			title := fmt.Sprintf("%s %d", panel.Title, i)
			drawn[title] = ask(q.Expr, "prod", q.Instant)
			if len(drawn[title]) == 0 {
				t.Errorf("%s shows nothing: %s", title, q.Expr)
			}
			if got := ask(q.Expr, "nowhere", q.Instant); len(got) > 0 {
				t.Errorf("%s shows %v of a cluster that there is not", title, got)
			}
		}
	}
	for title, want := range map[string]string{
		"Open findings of severity high 0": "1", "Last sweep 0": "1", "Kinds that cannot be read 0": "0",
		"Rules that did not run 0": "0", "Second looks 0": "1", "Namespaces 0": "2",
	} {
		if got := drawn[title]; len(got) != 1 || got[0].Value != want {
			t.Errorf("%s shows %v, want %s", title, got, want)
		}
	}
}

// A sweep that fails shows at the top, whatever of the last good picture is left.
func TestDashboardShowsAFailedSweep(t *testing.T) {
	gw := promtest.StartPushgateway(t)
	now := time.Now()
	g := gateway(t, metrics.Options{URL: gw.URL}, "prod")
	push(t, g, broken(now.Add(-5*time.Hour)))
	push(t, g, incomplete(now))
	p := promtest.StartPrometheus(t, "", gw.URL)
	p.Await(`audit_sweep_complete == 0`)
	for _, panel := range panels(t) {
		want, ok := map[string]func(float64) bool{
			"Last complete sweep":            func(v float64) bool { return v >= 5*3600 && v < 6*3600 },
			"Last sweep":                     func(v float64) bool { return v == 0 },
			"Kinds that cannot be read":      func(v float64) bool { return v == 1 },
			"Rules that did not run":         func(v float64) bool { return v == 1 },
			"Open findings of severity high": func(v float64) bool { return v == 3 },
		}[panel.Title]
		if !ok {
			continue
		}
		got, err := p.Query(strings.ReplaceAll(panel.Targets[0].Expr, "$cluster", "prod"))
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", panel.Title, got, err)
			continue
		}
		var v float64
		if _, err := fmt.Sscan(got[0].Value, &v); err != nil || !want(v) {
			t.Errorf("%s shows %s", panel.Title, got[0].Value)
		}
	}
}

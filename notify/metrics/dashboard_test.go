package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/eventuallytrue/audit/e2e/promtest"
	"github.com/eventuallytrue/audit/notify/metrics"
)

const dashboardFile = chartFiles + "/dashboard.json"

// panel has the fields of a panel that the tests use.
type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource struct{ UID string }
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		Expr       string
		Instant    bool
		Datasource struct{ UID string }
	}
}

func readDashboard(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// panels returns the panels except for rows.
func panels(t *testing.T) []panel {
	t.Helper()
	var d struct{ Panels []panel }
	if err := json.Unmarshal(readDashboard(t), &d); err != nil {
		t.Fatal(err)
	}
	var all []panel
	for _, p := range d.Panels {
		if p.Type != "row" {
			all = append(all, p)
		}
	}
	if len(all) < 15 {
		t.Fatalf("the dashboard has %d panels", len(all))
	}
	return all
}

// The types are generated from Grafana's schema and reject unknown fields.
func TestDashboardMatchesGrafanasSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	//lint:ignore SA1019 only the newest Grafana reads the newer form
	var d dashboard.Dashboard
	// On success the decoder returns an error with an empty text.
	if err := d.UnmarshalJSONStrict(readDashboard(t)); err != nil && err.Error() != "" {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	broken := strings.Replace(string(readDashboard(t)), `"lineInterpolation"`, `"lineInterpolatoin"`, 1)
	//lint:ignore SA1019 as above
	if err := new(dashboard.Dashboard).UnmarshalJSONStrict([]byte(broken)); err == nil || !strings.Contains(err.Error(), "lineInterpolatoin") {
		t.Errorf("an unknown field is accepted: %v", err)
	}
}

func TestDashboardIsLaidOut(t *testing.T) {
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range panels(t) {
		if ids[p.ID] {
			t.Errorf("%s: its id %d is not unique", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W < 3 || g.H < 3 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s does not fit: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("%s overlaps %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Datasource.UID != "${datasource}" || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d has datasource %q, title %q and %d queries", p.ID, p.Datasource.UID, p.Title, len(p.Targets))
		}
	}
}

func TestDashboardQueriesTheChosenClusterAndKnownMetrics(t *testing.T) {
	names := known(t)
	unseen := known(t)
	for _, p := range panels(t) {
		for _, q := range p.Targets {
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("%s queries data source %q", p.Title, q.Datasource.UID)
			}
			used := metricName.FindAllString(q.Expr, -1)
			if len(used) == 0 || strings.Count(q.Expr, `cluster=~"$cluster"`) != len(used) {
				t.Errorf("%s: not every metric is limited to the chosen cluster: %s", p.Title, q.Expr)
			}
			for _, name := range used {
				delete(unseen, name)
				if !names[name] {
					t.Errorf("%s: there is no %s", p.Title, name)
				}
			}
		}
	}
	// For alerts and ad hoc queries only.
	delete(unseen, "audit_last_attempt_timestamp_seconds")
	delete(unseen, "audit_sweep_duration_seconds")
	delete(unseen, "audit_sender_not_ready")
	if len(unseen) > 0 {
		t.Errorf("no panel uses %v", unseen)
	}
}

func TestEveryPanelHasDataFromARealPrometheus(t *testing.T) {
	gw := promtest.StartPushgateway(t)
	now := time.Now()
	for _, cluster := range []string{"prod", "staging"} {
		g := pusher(t, metrics.Options{URL: gw.URL}, cluster)
		push(t, g, broken(now.Add(-10*time.Minute)))
		push(t, g, halfResolved(now))
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
				t.Errorf("%s shows %v for a cluster that does not exist", title, got)
			}
		}
	}
	for title, want := range map[string]string{
		"Open findings with severity high 0": "1", "Last sweep 0": "1", "Unreadable kinds 0": "0",
		"Rules that did not run 0": "0", "Unconfirmed violations 0": "1", "Namespaces 0": "2",
	} {
		if got := drawn[title]; len(got) != 1 || got[0].Value != want {
			t.Errorf("%s shows %v, want %s", title, got, want)
		}
	}
}

// A failed sweep is visible at the top, although the last complete results remain.
func TestDashboardShowsAFailedSweep(t *testing.T) {
	gw := promtest.StartPushgateway(t)
	now := time.Now()
	g := pusher(t, metrics.Options{URL: gw.URL}, "prod")
	push(t, g, broken(now.Add(-5*time.Hour)))
	push(t, g, incomplete(now))
	p := promtest.StartPrometheus(t, "", gw.URL)
	p.Await(`audit_sweep_complete == 0`)
	for _, panel := range panels(t) {
		want, ok := map[string]func(float64) bool{
			"Last complete sweep":              func(v float64) bool { return v >= 5*3600 && v < 6*3600 },
			"Last sweep":                       func(v float64) bool { return v == 0 },
			"Unreadable kinds":                 func(v float64) bool { return v == 1 },
			"Rules that did not run":           func(v float64) bool { return v == 1 },
			"Open findings with severity high": func(v float64) bool { return v == 3 },
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

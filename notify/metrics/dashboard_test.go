package metrics_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const dashboardFile = chartFiles + "/dashboard.json"

// panel is what tests need of one.
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

// panels returns those that show something.
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

// The types are generated from Grafana's schema, and refuse a field that is not in
// it.
func TestDashboardKeepsGrafanasSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	//lint:ignore SA1019 the newer form is of the newest Grafana only
	var d dashboard.Dashboard
	// What reads it returns an error without any text where there is none.
	if err := d.UnmarshalJSONStrict(readDashboard(t)); err != nil && err.Error() != "" {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	broken := strings.Replace(string(readDashboard(t)), `"lineInterpolation"`, `"lineInterpolatoin"`, 1)
	//lint:ignore SA1019 as above
	if err := new(dashboard.Dashboard).UnmarshalJSONStrict([]byte(broken)); err == nil || !strings.Contains(err.Error(), "lineInterpolatoin") {
		t.Errorf("a field that Grafana does not have is taken: %v", err)
	}
}

func TestDashboardIsLaidOut(t *testing.T) {
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range panels(t) {
		if ids[p.ID] {
			t.Errorf("%s: its id %d is another's, too", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W < 3 || g.H < 3 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s does not fit: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("%s lies over %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Datasource.UID != "${datasource}" || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d has datasource %q, title %q and %d queries", p.ID, p.Datasource.UID, p.Title, len(p.Targets))
		}
	}
}

func TestDashboardAsksForTheChosenClusterAndForMetricsThatThereAre(t *testing.T) {
	names := known(t)
	unseen := known(t)
	for _, p := range panels(t) {
		for _, q := range p.Targets {
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("%s asks %q", p.Title, q.Datasource.UID)
			}
			used := metricName.FindAllString(q.Expr, -1)
			if len(used) == 0 || strings.Count(q.Expr, `cluster=~"$cluster"`) != len(used) {
				t.Errorf("%s: not every metric is of the chosen cluster: %s", p.Title, q.Expr)
			}
			for _, name := range used {
				delete(unseen, name)
				if !names[name] {
					t.Errorf("%s: there is no %s", p.Title, name)
				}
			}
		}
	}
	// The two are there for alerts and for reading by hand.
	delete(unseen, "audit_last_attempt_timestamp_seconds")
	delete(unseen, "audit_sweep_duration_seconds")
	if len(unseen) > 0 {
		t.Errorf("nobody looks at %v", unseen)
	}
}

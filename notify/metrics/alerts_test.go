package metrics_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/e2e/promtest"
	"github.com/eventuallytrue/audit/notify/metrics"
)

const (
	chartFiles = "../../charts/audit/files"
	alertsFile = chartFiles + "/alerts.yaml"
	alertTests = "testdata/alerts.test.yaml"
	runbooks   = "docs/metrics-and-alerts.md"
)

// alert is an alerting rule in the file.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	readYAML(t, alertsFile, &file)
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 7 {
		t.Fatalf("%s has %d alerts", alertsFile, len(all))
	}
	return all
}

func TestAlertsFireAndDoNotFire(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", alertsFile}, {"test", "rules", alertTests}} {
		if out, err := promtest.Promtool(t, "", args...); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestEveryAlertIsTestedBothWays(t *testing.T) {
	var file struct {
		Tests []struct {
			Cases []struct {
				Name   string `json:"alertname"`
				Alerts []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	readYAML(t, alertTests, &file)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.Cases {
			if len(c.Alerts) > 0 {
				fires[c.Name] = true
			} else {
				silent[c.Name] = true
			}
		}
	}
	for _, a := range alerts(t) {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s fires in a test: %t, and stays silent in one: %t", a.Alert, fires[a.Alert], silent[a.Alert])
		}
	}
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	page, err := os.ReadFile("../../" + runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts(t) {
		for _, key := range []string{"summary", "description"} {
			if a.Annotations[key] == "" {
				t.Errorf("%s has no %s", a.Alert, key)
			}
		}
		if !slices.Contains([]string{"info", "warning", "critical"}, a.Labels["severity"]) {
			t.Errorf("%s has severity %q", a.Alert, a.Labels["severity"])
		}
		if want := "https://github.com/eventuallytrue/audit/blob/main/" + runbooks + "#" + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s has runbook %s, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
		if !regexp.MustCompile(`(?m)^#+ ` + a.Alert + `$`).Match(page) {
			t.Errorf("%s has no heading for %s", runbooks, a.Alert)
		}
	}
}

var metricName = regexp.MustCompile(`\baudit_[a-z0-9_]+`)

// known returns the names of all metrics.
func known(t *testing.T) map[string]bool {
	t.Helper()
	e := metrics.NewExporter("prod", values())
	e.Update(halfResolved(day))
	names := map[string]bool{}
	for _, name := range metricName.FindAllString(served(t, e), -1) {
		names[name] = true
	}
	return names
}

func TestAlertsUseKnownMetrics(t *testing.T) {
	names := known(t)
	for _, a := range alerts(t) {
		used := metricName.FindAllString(a.Expr, -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metric", a.Alert)
		}
		for _, name := range used {
			if !names[name] {
				t.Errorf("%s uses %s, which does not exist", a.Alert, name)
			}
		}
	}
}

// A failed sweep that is pushed to a real Pushgateway makes the alerts of a real
// Prometheus pending or firing; most of them have a "for".
func TestRealPrometheusAlertsOnAFailedSweep(t *testing.T) {
	gw := promtest.StartPushgateway(t)
	path, err := filepath.Abs(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	push(t, pusher(t, metrics.Options{URL: gw.URL}, "prod"), clean(now.Add(-4*time.Hour)))
	push(t, pusher(t, metrics.Options{URL: gw.URL}, "prod"), incomplete(now))
	push(t, pusher(t, metrics.Options{URL: gw.URL}, "staging"), clean(now))
	p := promtest.StartPrometheus(t, path, gw.URL)
	p.Await(`ALERTS{alertname="AuditSweepStale"}`)
	p.Await(`ALERTS{alertname="AuditKindUnreadable"}`)
	p.Await(`ALERTS{alertname="AuditExceptionExpiring",cluster="staging"}`)
	got := map[string]bool{}
	samples, err := p.Query(`ALERTS`)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		got[s.Metric["alertname"]+" "+s.Metric["cluster"]+s.Metric["kind"]+s.Metric["sender"]] = true
	}
	want := []string{
		"AuditDeliveryFailing prodslack", "AuditExceptionExpiring prod", "AuditExceptionExpiring staging",
		"AuditKindUnreadable prodingresses.networking.k8s.io", "AuditSweepIncomplete prod", "AuditSweepStale prod",
	}
	if all := slices.Sorted(maps.Keys(got)); !slices.Equal(all, want) {
		t.Errorf("alerts are %q, want %q", all, want)
	}
}

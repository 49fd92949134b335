package charts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// TestServiceMonitorSelectsTheService checks the selector and the port. The API server of
// the tests does not have the Prometheus Operator's kinds.
func TestServiceMonitorSelectsTheService(t *testing.T) {
	m := render(t, "{mode: deployment, serviceMonitor: {enabled: true, interval: 15s, labels: {release: prometheus}}}")
	o := m.objects["ServiceMonitor/audit"]
	if o == nil || o.GetAPIVersion() != "monitoring.coreos.com/v1" || o.GetLabels()["release"] != "prometheus" {
		t.Fatalf("ServiceMonitor: %+v", o)
	}
	service := as[corev1.Service](t, m, "Service/audit")
	selector, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(service.Labels)) {
		t.Errorf("%v does not select %v", selector, service.Labels)
	}
	endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
	want := []any{map[string]any{"port": service.Spec.Ports[0].Name, "path": "/metrics", "interval": "15s"}}
	if diff := cmp.Diff(want, endpoints); diff != "" {
		t.Error(diff)
	}
	if !service.Spec.PublishNotReadyAddresses {
		t.Error("pods that are not ready are not scraped")
	}
}

func TestNoPrometheusObjectsByDefault(t *testing.T) {
	for _, mode := range []string{"cronjob", "deployment"} {
		for key, o := range render(t, "mode: "+mode).objects {
			if o.GetAPIVersion() == "monitoring.coreos.com/v1" {
				t.Errorf("mode %s renders %s", mode, key)
			}
		}
	}
}

// alerts returns the alerts of the chart by name.
func alerts(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	o := render(t, text).objects["PrometheusRule/audit"]
	groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
	byName := map[string]map[string]any{}
	for _, g := range groups {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			rule := r.(map[string]any)
			byName[rule["alert"].(string)] = rule
		}
	}
	return byName
}

func TestAlertsAreChangedByValues(t *testing.T) {
	const on = "mode: deployment\nprometheusRule: {enabled: true, alerts: "
	plain := alerts(t, on+"{}}")
	got := alerts(t, on+`{
	  AuditSweepStale: {severity: page, threshold: 6h, for: 10m}, AuditHighFindingOpen: {threshold: 14d},
	  AuditExceptionExpiring: {threshold: 90m}, AuditRuleFailed: {enabled: false}}}`)
	if len(got) != len(plain)-1 || got["AuditRuleFailed"] != nil {
		t.Errorf("%d of %d alerts are left", len(got), len(plain))
	}
	stale := got["AuditSweepStale"]
	if stale["for"] != "10m" || stale["labels"].(map[string]any)["severity"] != "page" {
		t.Errorf("AuditSweepStale: %v", stale)
	}
	for name, want := range map[string]string{
		"AuditSweepStale": "> 6 * 3600", "AuditHighFindingOpen": "> 14 * 86400", "AuditExceptionExpiring": "< 90 * 60",
	} {
		if expr := got[name]["expr"].(string); !strings.HasSuffix(expr, want) {
			t.Errorf("%s: %s, want it to end with %s", name, expr, want)
		}
	}
	for values, want := range map[string]string{
		on + "{}}": "> 20 * 60",
		"deployment: {interval: 1h}\n" + on + "{}}":                                     "> 120 * 60",
		"deployment: {interval: 1h30m}\n" + on + "{}}":                                  "> 2 * 3600", // as in the file
		"prometheusRule: {enabled: true}":                                               "> 20 * 60",
		"prometheusRule: {enabled: true, alerts: {AuditSweepMissing: {threshold: 5h}}}": "> 5 * 3600",
	} {
		if expr := alerts(t, values)["AuditSweepMissing"]["expr"].(string); !strings.HasSuffix(expr, want) {
			t.Errorf("AuditSweepMissing with %s: %s, want it to end with %s", values, expr, want)
		}
	}
	if diff := cmp.Diff(plain["AuditDeliveryFailing"], got["AuditDeliveryFailing"]); diff != "" {
		t.Errorf("an alert without changes (-before +after):\n%s", diff)
	}
}

// TestAbsenceIsAnAlertOnlyWhereMetricsCanArrive: a CronJob without a Pushgateway has no
// metrics, ever.
func TestAbsenceIsAnAlertOnlyWhereMetricsCanArrive(t *testing.T) {
	for text, want := range map[string]bool{
		"prometheusRule: {enabled: true}":                                                                        false,
		"{mode: deployment, prometheusRule: {enabled: true}}":                                                    true,
		"{prometheusRule: {enabled: true}, config: {cluster: a, pushgateway: {url: 'http://pushgateway:9091'}}}": true,
	} {
		all := alerts(t, text)
		if got := all["AuditMetricsAbsent"] != nil; got != want || all["AuditSweepStale"] == nil {
			t.Errorf("%s: AuditMetricsAbsent %t, want %t", text, got, want)
		}
	}
}

// TestAlertsAreCopiedVerbatim checks that Helm does not expand the templates in alerts.
func TestAlertsAreCopiedVerbatim(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	// The default of this threshold is two periods of the schedule.
	got := render(t, "{mode: deployment, prometheusRule: {enabled: true, alerts: {AuditSweepMissing: {threshold: 2h}}}}").objects["PrometheusRule/audit"].Object["spec"]
	if diff := cmp.Diff(want, got, looseNumbers); diff != "" {
		t.Errorf("spec (-file +chart):\n%s", diff)
	}
}

func TestDashboardIsCopiedVerbatim(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "files", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := as[configMap](t, render(t, "dashboard: {enabled: true}"), "ConfigMap/audit-dashboard")
	var want, got any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(m.Data["audit.json"]), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m.Labels["grafana_dashboard"] != "1" {
		t.Errorf("labels %v", m.Labels)
	}
}

// looseNumbers compares numbers of any type.
var looseNumbers = cmp.FilterValues(func(a, b any) bool {
	_, x := number(a)
	_, y := number(b)
	return x && y
}, cmp.Comparer(func(a, b any) bool {
	x, _ := number(a)
	y, _ := number(b)
	return x == y
}))

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}

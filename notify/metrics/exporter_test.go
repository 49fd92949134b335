package metrics_test

import (
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/eventuallytrue/audit/notify/metrics"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing them")

// day is when the sweeps of golden files end.
var day = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// golden holds a text against a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, runtime.Version(), "go1.x")
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// served returns the metrics of sweeps that the exporter serves.
func served(t *testing.T, e *metrics.Exporter) string {
	t.Helper()
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var out strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "audit_") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestExporterServesEveryMetric(t *testing.T) {
	e := metrics.NewExporter("prod", values())
	e.Update(broken(day))
	golden(t, "exporter.txt", served(t, e))
	all := httptest.NewRecorder()
	e.Handler().ServeHTTP(all, httptest.NewRequest("GET", "/metrics", nil))
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total"} {
		if !strings.Contains(all.Body.String(), "\n"+name+" ") {
			t.Errorf("/metrics lacks %s of the process", name)
		}
	}
}

var (
	validName = regexp.MustCompile(`^audit_[a-z][a-z0-9_]*$`)
	validWord = regexp.MustCompile(`^[a-z]+$`)
)

// The client library accepts UTF-8 names, which a Pushgateway rejects.
func TestNamesFollowTheConventions(t *testing.T) {
	e := metrics.NewExporter("prod", values())
	e.Update(broken(day))
	problems, err := testutil.GatherAndLint(ours{e})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := ours{e}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 20 {
		t.Fatalf("there are only %d metrics", len(families))
	}
	for _, f := range families {
		if !validName.MatchString(f.GetName()) {
			t.Errorf("name %s", f.GetName())
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if !validWord.MatchString(l.GetName()) || l.GetName() == "job" || l.GetName() == "instance" || l.GetName() == "group" {
					t.Errorf("%s has a label %s", f.GetName(), l.GetName())
				}
			}
		}
	}
}

// ours gathers the metrics of sweeps only.
type ours struct{ prometheus.Gatherer }

func (o ours) Gather() (out []*dto.MetricFamily, err error) {
	all, err := o.Gatherer.Gather()
	for _, f := range all {
		if strings.HasPrefix(f.GetName(), "audit") {
			out = append(out, f)
		}
	}
	return out, err
}

func TestExporterAfterSeveralSweeps(t *testing.T) {
	later := func(minutes int) time.Time { return day.Add(time.Duration(minutes) * time.Minute) }
	const (
		firstComplete = `audit_last_complete_timestamp_seconds{cluster="prod"} 1.7803008e+09`
		firstSuccess  = `audit_last_success_timestamp_seconds{cluster="prod"} 1.7803008e+09`
		ofTeamA       = `audit_owner_findings{cluster="prod",owner="team-a",rule="one-owner-per-host"}`
	)
	for _, tt := range []struct {
		name        string
		do          func(*metrics.Exporter)
		has, hasNot []string
	}{
		{
			"a resolved finding removes its owner's series",
			func(e *metrics.Exporter) { e.Update(broken(day)); e.Update(clean(later(10))) },
			[]string{`audit_findings{cluster="prod",rule="one-owner-per-host",severity="high",state="open"} 0`},
			[]string{ofTeamA, "audit_oldest_open_finding", "audit_time_to_resolve"},
		},
		{
			"an incomplete sweep keeps the results and the time of success, and replaces the attempt",
			func(e *metrics.Exporter) { e.Update(broken(day)); e.Update(incomplete(later(10))) },
			[]string{
				firstComplete, firstSuccess, ofTeamA + " 2", `audit_sweep_complete{cluster="prod"} 0`,
				`audit_kind_readable{cluster="prod",kind="ingresses.networking.k8s.io"} 0`,
				`audit_rule_status{cluster="prod",rule="one-owner-per-host",status="skipped"} 1`,
				`audit_sweep_failures{cluster="prod",phase="read"} 1`,
				`audit_sweep_failures{cluster="prod",phase="deliver"} 1`,
				`audit_objects_read{cluster="prod",kind="ingresses.networking.k8s.io"} 7`,
			},
			nil,
		},
		{
			"a sweep whose delivery failed is complete but not successful",
			func(e *metrics.Exporter) { e.Update(clean(day)); e.Update(undelivered(later(10))) },
			[]string{firstSuccess, ofTeamA + " 2", `audit_sweep_complete{cluster="prod"} 1`, `audit_deliveries{cluster="prod",result="refused",sender="slack"} 1`},
			[]string{firstComplete},
		},
		{
			"an aborted sweep shows a failure and nothing of the previous attempt",
			func(e *metrics.Exporter) { e.Update(broken(day)); e.Update(aborted(later(10))) },
			[]string{firstComplete, ofTeamA + " 2", `audit_sweep_complete{cluster="prod"} 0`, `audit_sweep_failures{cluster="prod",phase="other"} 1`},
			[]string{"audit_kind_readable", "audit_rule_status", "audit_deliveries", "audit_phase_duration"},
		},
		{
			"a process that lost the lease shows no sweep",
			func(e *metrics.Exporter) { e.Update(broken(day)); e.Clear() },
			[]string{"audit_build_info"},
			[]string{"audit_findings", "audit_last_", "audit_sweep_"},
		},
		{
			"an incomplete first sweep shows no findings, not even 0",
			func(e *metrics.Exporter) { e.Update(incomplete(day)) },
			[]string{`audit_sweep_complete{cluster="prod"} 0`},
			[]string{"audit_findings", "audit_last_complete", "audit_last_success"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := metrics.NewExporter("prod", values())
			tt.do(e)
			got := served(t, e)
			for _, want := range tt.has {
				if !strings.Contains(got, want+"\n") && !strings.Contains(got, want+"{") {
					t.Errorf("it does not serve %s:\n%s", want, got)
				}
			}
			for _, no := range tt.hasNot {
				if strings.Contains(got, no) {
					t.Errorf("it serves %s:\n%s", no, got)
				}
			}
		})
	}
}

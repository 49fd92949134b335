package metrics_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/promtest"
	"github.com/eventuallytrue/audit/notify/metrics"
)

func gateway(t *testing.T, o metrics.Options, cluster string) *metrics.Gateway {
	t.Helper()
	g, err := metrics.NewGateway(o, cluster, vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func push(t *testing.T, g *metrics.Gateway, s *metrics.Sweep) {
	t.Helper()
	if err := g.Push(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func TestRealPushgatewayHasExactlyTheLastPicture(t *testing.T) {
	real := promtest.StartPushgateway(t)
	g := gateway(t, metrics.Options{URL: real.URL, Timeout: 10 * time.Second}, "prod")
	for i, step := range []struct {
		name  string
		sweep *metrics.Sweep
	}{
		{"broken", broken(day)},
		{"half-mended", halfMended(day.Add(10 * time.Minute))},
		{"clean", clean(day.Add(20 * time.Minute))},
		{"incomplete", incomplete(day.Add(30 * time.Minute))},
		{"aborted", aborted(day.Add(40 * time.Minute))},
	} {
		push(t, g, step.sweep)
		golden(t, fmt.Sprintf("pushed-%d-%s.txt", i+1, step.name), strings.Join(real.Series(), "\n")+"\n")
	}
}

// picture are the series of the picture, which belong to no group of their own.
func picture(series []string) []string {
	var out []string
	for _, s := range series {
		if !strings.Contains(s, `group="`) {
			out = append(out, s)
		}
	}
	return out
}

func TestRealPushgatewayKeepsThePictureOfTheLastCompleteSweep(t *testing.T) {
	real := promtest.StartPushgateway(t)
	g := gateway(t, metrics.Options{URL: real.URL}, "prod")
	push(t, g, halfMended(day))
	before := real.Series()
	push(t, g, incomplete(day.Add(time.Hour)))
	push(t, g, aborted(day.Add(2*time.Hour)))
	after := real.Series()
	if diff := cmp.Diff(picture(before), picture(after)); diff != "" {
		t.Errorf("picture (-third sweep +after the failures):\n%s", diff)
	}
	if len(picture(before)) < 10 || cmp.Equal(before, after) {
		t.Errorf("the attempts left no mark on %d series", len(before))
	}
}

func TestRealPushgatewayKeepsClustersApart(t *testing.T) {
	real := promtest.StartPushgateway(t)
	names := []string{"prod", "staging", "eu/1 ü", strings.Repeat("c", 200)}
	of := func(cluster string) []string {
		var out []string
		for _, s := range real.Series() {
			if strings.Contains(s, fmt.Sprintf("cluster=%q", cluster)) {
				out = append(out, s)
			}
		}
		return out
	}
	for _, cluster := range names {
		push(t, gateway(t, metrics.Options{URL: real.URL}, cluster), broken(day))
	}
	before := of("prod")
	for _, cluster := range names[1:] {
		if len(of(cluster)) != len(before) || len(before) == 0 {
			t.Errorf("cluster %q has %d series, prod has %d", cluster, len(of(cluster)), len(before))
		}
		push(t, gateway(t, metrics.Options{URL: real.URL}, cluster), clean(day.Add(time.Hour)))
	}
	if diff := cmp.Diff(before, of("prod")); diff != "" {
		t.Errorf("the push of another cluster changed those of prod:\n%s", diff)
	}
}

func TestRealPushgatewayTakesWhatPromtoolApproves(t *testing.T) {
	real := promtest.StartPushgateway(t)
	push(t, gateway(t, metrics.Options{URL: real.URL}, "prod"), broken(day))
	var ours strings.Builder
	// The gateway's own metrics are not ours to mend.
	mine := regexp.MustCompile(`^(# (HELP|TYPE) )?audit_`)
	for line := range strings.Lines(real.Text()) {
		if mine.MatchString(line) {
			ours.WriteString(line)
		}
	}
	if out, err := promtest.Promtool(t, ours.String(), "check", "metrics"); err != nil || out != "" {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	if out, err := promtest.Promtool(t, "# HELP audit_x_total\n# TYPE audit_x_total gauge\naudit_x_total 1\n", "check", "metrics"); err == nil {
		t.Errorf("promtool approves of anything: %s", out)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/e2e/promtest"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// smallCluster is broken in two ways: two teams claim a host, and a namespace whose
// owner is not in the config denies nothing.
const smallCluster = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: team-a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: blog, labels: {team: team-b}}
---
apiVersion: v1
kind: Namespace
metadata: {name: lab, labels: {team: "stranger"}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec: {rules: [{host: www.example.com}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: blog}
spec: {rules: [{host: www.example.com}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: probe, namespace: lab}
spec:
  selector: {matchLabels: {app: probe}}
  template:
    metadata: {labels: {app: probe}}
    spec: {containers: [{name: probe, image: probe}]}
`

// metricsCluster is a cluster with the objects above, and the arguments with which
// an account with exactly the rights of the chart publishes.
func metricsCluster(t *testing.T) (*kubetest.Cluster, []string) {
	t.Helper()
	c := control.Cluster(t)
	kubectl(t, c, "apply", "-f", configured(t, smallCluster))
	return c, allowToPublish(t, c)
}

// namesTwo is a config that names two of the owners.
const namesTwo = "cluster: prod\nowners: {fallback: platform, teams: [{name: team-a}, {name: team-b}]}\n"

// pushSection is the part of a config that names a gateway.
func pushSection(t *testing.T, url string) string {
	t.Helper()
	return fmt.Sprintf("pushgateway: {url: %q, timeout: 2s, basicAuth: {username: audit, passwordFile: %q}}\n", url, configured(t, "hunter2"))
}

// foundSeries are the series of findings that are not zero. Those that are zero must
// be there.
func foundSeries(t *testing.T, all []string) []string {
	t.Helper()
	var out []string
	zeros := 0
	for _, s := range all {
		switch {
		case !strings.HasPrefix(s, "audit_findings{") && !strings.HasPrefix(s, "audit_owner_findings{"):
		case strings.HasSuffix(s, " 0"):
			zeros++
		default:
			out = append(out, s)
		}
	}
	if want := 9*len(catalog.All()) - 5; zeros < want {
		t.Errorf("%d series of findings are zero, want one at least for each rule, severity and state", zeros)
	}
	return out
}

func TestRealPushgatewayFollowsTheRealCluster(t *testing.T) {
	c, args := metricsCluster(t)
	gateway := promtest.StartPushgateway(t)
	args = append([]string{"--once", "-o", "json", "--config", configured(t, namesTwo+pushSection(t, gateway.URL))}, args...)
	run := func(code int) {
		t.Helper()
		eventually(t, func() (outcome, bool) {
			out := execute(args...)
			return out, out.code == code
		})
	}
	rule := func(name string, open, resolved string) []string {
		var out []string
		if open != "" {
			out = append(out, fmt.Sprintf(`audit_findings{cluster="prod",job="audit",rule=%q,severity="high",state="open"} %s`, name, open))
		}
		if resolved != "" {
			out = append(out, fmt.Sprintf(`audit_findings{cluster="prod",job="audit",rule=%q,severity="high",state="resolved"} %s`, name, resolved))
		}
		return out
	}
	owned := func(name, owner, n string) string {
		return fmt.Sprintf(`audit_owner_findings{cluster="prod",job="audit",owner=%q,rule=%q} %s`, owner, name, n)
	}
	const hosts, deny = "one-owner-per-host", "default-deny-present"
	check := func(step string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, foundSeries(t, gateway.Series())); diff != "" {
			t.Errorf("findings after the sweep that is %s (-want +got):\n%s", step, diff)
		}
	}

	run(0)
	check("broken", concat(rule(deny, "2", ""), rule(hosts, "1", ""), []string{
		owned(deny, "other", "2"), owned(hosts, "team-a", "1"), owned(hosts, "team-b", "1"),
	})...)
	kubectl(t, c, "delete", "ingress", "-n", "blog", "web")
	run(0)
	check("half resolved", concat(rule(deny, "2", ""), rule(hosts, "", "1"), []string{owned(deny, "other", "2")})...)
	kubectl(t, c, "delete", "deployment", "-n", "lab", "probe")
	run(0)
	check("clean", concat(rule(deny, "", "2"), rule(hosts, "", "1"))...)
	third := gateway.Series()

	kubectl(t, c, "patch", "clusterrole", "audit-read-only", "--type=json", "-p",
		`[{"op": "replace", "path": "/rules/`+ruleOf(t, "ingresses")+`/resources", "value": ["ingressclasses", "networkpolicies"]}]`)
	run(exitIncomplete)
	compareWithThird(t, third, gateway.Series())
}

// compareWithThird checks what an incomplete sweep leaves of the one before.
func compareWithThird(t *testing.T, third, fourth []string) {
	t.Helper()
	if diff := cmp.Diff(ungrouped(third), ungrouped(fourth)); diff != "" {
		t.Errorf("an incomplete sweep changed the metrics of findings (-third +fourth):\n%s", diff)
	}
	for _, want := range []string{
		`audit_sweep_complete{cluster="prod",group="attempt",job="audit"} 0`,
		`audit_kind_readable{cluster="prod",group="attempt",job="audit",kind="ingresses.networking.k8s.io"} 0`,
		`audit_rule_status{cluster="prod",group="attempt",job="audit",rule="one-owner-per-host",status="skipped"} 1`,
		`audit_sweep_failures{cluster="prod",group="attempt",job="audit",phase="read"} 1`,
	} {
		if !strings.Contains(strings.Join(fourth, "\n"), want) {
			t.Errorf("the metrics of the attempt do not have %s", want)
		}
	}
	stamp := func(series []string) (s string) {
		for _, s = range series {
			if strings.HasPrefix(s, "audit_last_success") {
				return s
			}
		}
		return ""
	}
	if stamp(third) == "" || stamp(third) != stamp(fourth) {
		t.Errorf("the last success was %q and is %q", stamp(third), stamp(fourth))
	}
}

func ungrouped(series []string) []string {
	var out []string
	for _, s := range series {
		if !strings.Contains(s, `group="`) {
			out = append(out, s)
		}
	}
	return out
}

func concat(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// failingGateways are gateways that accept nothing, by what they do. Without a handler,
// no server listens.
func failingGateways() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"down": nil,
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"redirecting to a login page": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/login" {
				http.Redirect(w, r, "/login", http.StatusFound)
			}
		},
		"answering 400": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "inconsistent", http.StatusBadRequest) },
	}
}

// unlikeTwice is what no two messages share: when Slack took them.
var unlikeTwice = cmp.Options{
	cmpopts.IgnoreFields(report.Notification{}, "Message"), cmpopts.IgnoreFields(fakeslack.Message{}, "TS", "Thread"),
}

func TestGatewayThatFailsChangesNothingButTheExitCode(t *testing.T) {
	c, args := metricsCluster(t)
	slack := fakeslack.Start(t, fakeslack.Config{Token: botToken, Interval: -1, Channels: map[string]fakeslack.Membership{"C0100000001": fakeslack.Member}})
	channelOfOne := strings.Replace(namesTwo, "team-a", "team-a, slack: {channel: C0100000001}", 1)
	slackSection := fmt.Sprintf("slack: {tokenFile: %q}\n", configured(t, botToken))
	args = append(args, "--slack-api-url", slack.APIURL())
	sent := 0
	// Each time as if it were the first: everything is opened, and its owners are notified.
	fresh := func(code int, gateway string) (errs string, r *report.Report, kept []report.StoredFinding, messages []fakeslack.Message) {
		kubectl(t, c, "delete", "findings", "--all", "-n", "audit")
		errs, r = publishOnce(t, code, append([]string{"--config", configured(t, channelOfOne+slackSection+gateway)}, args...)...)
		messages = slack.Messages()[sent:]
		sent += len(messages)
		return errs, r, stored(t, c), messages
	}
	_, want, kept, messages := fresh(0, "")
	if len(kept) != 3 || len(messages) == 0 {
		t.Fatalf("%d findings are kept and %d messages sent", len(kept), len(messages))
	}
	for name, answer := range failingGateways() {
		t.Run(name, func(t *testing.T) {
			url := unusedURL(t)
			if answer != nil {
				server := httptest.NewServer(answer)
				t.Cleanup(server.Close)
				url = server.URL
			}
			errs, got, keptToo, messagesToo := fresh(exitIncomplete, pushSection(t, url))
			if len(got.Failures) == 0 {
				t.Error("the report names no failure")
			}
			for _, f := range got.Failures {
				if f.Stage != "push" || f.Where != "metrics" || !strings.Contains(f.Reason, url) || strings.Contains(f.Reason, "hunter2") {
					t.Errorf("the report names the failure %+v", f)
				}
			}
			got.Failures = want.Failures
			for what, diff := range map[string]string{
				"report": cmp.Diff(want, got), "findings": cmp.Diff(kept, keptToo, unlikeTwice), "messages": cmp.Diff(messages, messagesToo, unlikeTwice),
			} {
				if diff != "" {
					t.Errorf("%s (-without a gateway +with one):\n%s", what, diff)
				}
			}
			if !strings.Contains(errs, "audit: push metrics: ") || !strings.Contains(errs, url) || strings.Contains(errs, "hunter2") {
				t.Errorf("it says %s", errs)
			}
		})
	}
}

// publishOnce publishes, which must end with the code, and returns its standard
// error and its report.
func publishOnce(t *testing.T, code int, args ...string) (string, *report.Report) {
	t.Helper()
	out := execute(append([]string{"--once", "-o", "json"}, args...)...)
	if out.code != code {
		t.Fatalf("exit %d, want %d: %s", out.code, code, out.stderr)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
		t.Fatal(err)
	}
	return out.stderr, &r
}

// unusedURL is a URL at which no server listens.
func unusedURL(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestServiceShowsItsSweepsAndPushesThem(t *testing.T) {
	c, _ := metricsCluster(t)
	gateway := promtest.StartPushgateway(t)
	binary := buildAudit(t)
	start := func() *service {
		return publishes(t, binary, c.Kubeconfig(kubetest.Guest), "--interval", "5m", "--config", configured(t, namesTwo+pushSection(t, gateway.URL)))
	}
	leader := start()
	leader.says(t, "msg=sweep complete=true", 1)
	standby := start()
	standby.says(t, "msg=\"standing by\"", 1)

	code, text := leader.get(t, "/metrics")
	shown := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "audit_") {
			shown[line[:strings.IndexByte(line, '{')]] = true
		}
	}
	pushed := map[string]bool{}
	eventually(t, func() (outcome, bool) {
		for _, s := range gateway.Series() {
			pushed[s[:strings.IndexByte(s, '{')]] = true
		}
		return outcome{stderr: leader.log.String()}, pushed["audit_last_success_timestamp_seconds"]
	})
	if diff := cmp.Diff(pushed, shown); code != http.StatusOK || diff != "" {
		t.Errorf("%d: metrics (-pushed +shown):\n%s", code, diff)
	}
	for _, want := range []string{
		`audit_findings{cluster="prod",rule="one-owner-per-host",severity="high",state="open"} 1`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("/metrics does not show %s", want)
		}
	}
	if _, text := standby.get(t, "/metrics"); !strings.Contains(text, "audit_build_info") || strings.Contains(text, "audit_findings") || strings.Contains(text, "audit_last_") {
		t.Errorf("a process on standby shows\n%s", text)
	}
}

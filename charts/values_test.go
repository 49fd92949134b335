package charts

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// everything sets as many values as possible, with mode deployment.
const everything = `
mode: deployment
config:
  cluster: prod-eu-1
  owners:
    keys: [owner, "a8r.io/owner"]
    teams:
      - {name: team-a, namespaces: ["shop-*"], slack: {channel: C0123456789}}
  exceptions:
    - {rule: default-deny-present, subject: {namespace: legacy}, reason: "moves in Q1: NET-1", expires: 2027-03-31}
  limits: {newFindings: 1000000}
  hostSources:
    - {group: example.org, version: v1, resource: doors, kind: Door, hosts: "object.spec.hosts"}
  slack: {remindAfter: 48h}
secrets: {slack: audit-slack}
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
extraVolumes: [{name: ca, configMap: {name: company-ca}}]
extraVolumeMounts: [{name: ca, mountPath: /etc/ssl/certs, readOnly: true}]
image: {digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
imagePullSecrets: [{name: pull}]
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: infra, operator: Exists, effect: NoSchedule}]
affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}
commonLabels: {owner: platform}
commonAnnotations: {example.org/runbook: "https://example.org/audit"}
podLabels: {tier: infra}
podAnnotations: {example.org/scrape: "false"}
serviceAccount: {annotations: {example.org/role: audit}}
rbac: {extraKinds: [{group: crd.antrea.io, resource: networkpolicies}]}
networkPolicy:
  apiServer: {cidrs: ["10.0.0.0/8", "fd00::/8"], ports: [6443]}
  dns: [{namespaceSelector: {}, podSelector: {matchLabels: {k8s-app: kube-dns}}}]
  slackCIDRs: [0.0.0.0/0]
  metrics: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  extraEgress: [{ports: [{protocol: TCP, port: 3128}]}]
`

func TestLint(t *testing.T) {
	for name, text := range map[string]string{"the default": "", "everything": everything} {
		t.Run(name, func(t *testing.T) {
			if out, err := helm(t, nil, "lint", "--strict", chart, values(t, text)); err != nil {
				t.Error(out)
			}
		})
	}
}

func TestInvalidValuesAreRejected(t *testing.T) {
	for _, tc := range []struct{ name, values, want string }{
		{"an unknown key", "shedule: x", "additional properties 'shedule' not allowed"},
		{"an unknown nested key", "cronjob: {shedule: x}", "additional properties 'shedule' not allowed"},
		{"an unknown mode", "mode: daemonset", "at '/mode'"},
		{"no mode", "mode: null", "mode"},
		{"a schedule of four fields", `cronjob: {schedule: "* * * *"}`, "at '/cronjob/schedule'"},
		{"a schedule with a time zone", `cronjob: {schedule: "TZ=UTC * * * * *"}`, "at '/cronjob/schedule'"},
		{"no time zone", `cronjob: {timeZone: ""}`, "at '/cronjob/timeZone'"},
		{"too many retries", "cronjob: {backoffLimit: 100}", "at '/cronjob/backoffLimit'"},
		{"a deadline with a unit", "cronjob: {activeDeadlineSeconds: 9m}", "at '/cronjob/activeDeadlineSeconds'"},
		{"a duration without a unit", "timeout: 300", "at '/timeout'"},
		{"a duration in days", "deployment: {interval: 1d}", "at '/deployment/interval'"},
		{"an incomplete digest", `image: {digest: "sha256:0123"}`, "at '/image/digest'"},
		{"a tag that is an image", "image: {tag: 'audit:v1'}", "at '/image/tag'"},
		{"an invalid quantity", "resources: {limits: {memory: lots}}", "at '/resources/limits/memory'"},
		{"a label that is a number", "commonLabels: {floor: 3}", "at '/commonLabels/floor'"},
		{"a token instead of the name of a Secret", "secrets: {slack: xoxb-1-A}", "at '/secrets/slack'"},
		{"an unknown Secret", "secrets: {email: smtp}", "additional properties 'email' not allowed"},
		{"the right to read Secrets", `rbac: {extraKinds: [{group: "", resource: secrets}]}`, "at '/rbac/extraKinds/0/resource'"},
		{"Secrets as a host source", "config: {hostSources: [{resource: secrets}]}", "at '/config/hostSources/0/resource'"},
		{"a rule that is disabled with a string", "config: {rules: {owner-known: {enabled: 'no'}}}", "at '/config/rules/owner-known/enabled'"},
		{"an address instead of a CIDR", "networkPolicy: {apiServer: {cidrs: [10.0.0.1]}}", "at '/networkPolicy/apiServer/cidrs/0'"},
		{"a ServiceMonitor with mode cronjob", "serviceMonitor: {enabled: true}", "at '/mode': value must be 'deployment'"},
		{"a flag without a dash", "extraArgs: [publish]", "at '/extraArgs/0'"},
		{"an unknown key of the config", "config: {evnts: true}", "additional properties 'evnts' not allowed"},
		{"an unknown key deep in the config", "config: {owners: {teams: [{name: a, slak: {}}]}}", "additional properties 'slak' not allowed"},
		{"an unknown setting of a rule", "config: {rules: {owner-known: {exmptNamespaces: []}}}", "additional properties 'exmptNamespaces' not allowed"},
		{"an invalid severity", "config: {rules: {owner-known: {severity: critical}}}", "at '/config/rules/owner-known/severity'"},
		{"a duration in days in the config", "config: {findings: {keepResolved: 30d}}", "at '/config/findings/keepResolved'"},
		{"a list that is a string", "config: {owners: {keys: owner}}", "at '/config/owners/keys'"},
		{"a variable without a name", "extraEnv: [{value: x}]", "at '/extraEnv/0'"},
		{"an unknown key of a variable", "extraEnv: [{name: A, vaule: x}]", "additional properties 'vaule' not allowed"},
		{"a volume with the name of another", "extraVolumes: [{name: token, emptyDir: {}}]", "at '/extraVolumes/0/name'"},
		{"a mount without a path", "extraVolumeMounts: [{name: ca}]", "at '/extraVolumeMounts/0'"},
		{"an unknown alert", "prometheusRule: {alerts: {AuditSweepStail: {}}}", "additional properties 'AuditSweepStail' not allowed"},
		{"a threshold of an alert without one", "prometheusRule: {alerts: {AuditRuleFailed: {threshold: 3h}}}", "additional properties 'threshold' not allowed"},
		{"a threshold in weeks", "prometheusRule: {alerts: {AuditSweepStale: {threshold: 1w}}}", "at '/prometheusRule/alerts/AuditSweepStale/threshold'"},
		{"a webhook Secret that the config does not use", "secrets: {webhook: audit-webhook}", "no file in the config is in /var/run/secrets/audit/webhook/"},
		{
			"a Slack Secret that the config does not use", "{config: {slack: {tokenFile: /elsewhere}}, secrets: {slack: audit-slack}}",
			"no file in the config is in /var/run/secrets/audit/slack/",
		},
		{
			"a sweep that may take until the next one", `cronjob: {schedule: "*/5 * * * *", startingDeadlineSeconds: 60}`,
			"cronjob.activeDeadlineSeconds is 540, but with schedule \"*/5 * * * *\" the next sweep starts after 300 seconds",
		},
		{
			"a sweep that may start after the next one", `cronjob: {schedule: "*/5 * * * *", activeDeadlineSeconds: 240}`,
			"cronjob.startingDeadlineSeconds is 300",
		},
		{
			"a jitter that leaves no time to read", `cronjob: {jitter: 4m}`,
			"cronjob.jitter is 4m, which with timeout 5m does not fit cronjob.activeDeadlineSeconds, 540",
		},
		{
			"a file of a Secret that is not set", "config: {slack: {tokenFile: /var/run/secrets/audit/slack/token}}",
			"secrets.slack is not set",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := helm(t, nil, "template", home, chart, values(t, tc.values))
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("error %v, want one with %q:\n%s", err, tc.want, out)
			}
		})
	}
}

// TestDeadlinesAreComparedWithTheSchedule checks the time between two sweeps that the
// chart derives from a schedule.
func TestDeadlinesAreComparedWithTheSchedule(t *testing.T) {
	for schedule, period := range map[string]int{
		"3-59/10 * * * *": 600, "*/7 * * * *": 240, "0 * * * *": 3600, "5,20 * * * *": 900, "10,50 * * * *": 1200,
		"0-58/2 * * * *": 120, "8/20 * * * *": 1200, "0 */6 * * *": 6 * 3600, "0 22,4 * * *": 6 * 3600, "55 3 * * 1-5": 86400,
		"0,30 6,18 * * *": 1800, "08 09 * * *": 86400, "@hourly": 3600, "@daily": 86400,
	} {
		for deadline, accepted := range map[int]bool{period - 1: true, period: false} {
			text := fmt.Sprintf(`cronjob: {schedule: "%s", startingDeadlineSeconds: 60, activeDeadlineSeconds: %d}`, schedule, deadline)
			out, err := helm(t, nil, "template", home, chart, values(t, text))
			if accepted != (err == nil) || !accepted && !strings.Contains(out, fmt.Sprintf("starts after %d seconds", period)) {
				t.Errorf("schedule %s, deadline %d: %v, want accepted %t:\n%.300s", schedule, deadline, err, accepted, out)
			}
		}
	}
}

// TestMinuteOfTheSweepDependsOnTheNames: clusters with the same values don't all sweep in
// the same minute.
func TestMinuteOfTheSweepDependsOnTheNames(t *testing.T) {
	schedules := map[string]bool{}
	for _, cluster := range []string{"prod-eu-1", "prod-us-1", "staging", "dev", "lab"} {
		m := render(t, "{config: {cluster: "+cluster+"}, cronjob: {jitter: 1m30s}}")
		schedules[as[batchv1.CronJob](t, m, "CronJob/audit").Spec.Schedule] = true
	}
	if len(schedules) < 3 {
		t.Errorf("five clusters have the schedules %v", schedules)
	}
}

// TestOneValueNamesTheSlackSecret: the token is read from the Secret unless the config
// names a file in it.
func TestOneValueNamesTheSlackSecret(t *testing.T) {
	const dir = "/var/run/secrets/audit/slack/"
	for text, want := range map[string]string{
		"secrets: {slack: s}": dir + "token",
		"{secrets: {slack: s}, config: {slack: {tokenFile: " + dir + "bot}}}":                                    dir + "bot",
		"{secrets: {slack: s}, config: {owners: {teams: [{name: a, slack: {webhookFile: " + dir + "team-a}}]}}}": "",
		"{config: {slack: {remindAfter: 48h}}}":                                                                  "",
	} {
		var got struct{ Slack struct{ TokenFile string } }
		if err := yaml.Unmarshal([]byte(as[configMap](t, render(t, text), "ConfigMap/audit").Data["audit.yaml"]), &got); err != nil {
			t.Fatal(err)
		}
		if got.Slack.TokenFile != want {
			t.Errorf("%s: tokenFile %q, want %q", text, got.Slack.TokenFile, want)
		}
	}
}

// TestConfigSurvives checks that the config means the same after Helm has parsed and
// formatted it.
func TestConfigSurvives(t *testing.T) {
	rendered := as[configMap](t, render(t, everything), "ConfigMap/audit").Data["audit.yaml"]
	c, err := config.Parse([]byte(rendered), "audit.yaml", catalog.All())
	if err != nil {
		t.Fatalf("%v\n%s", err, rendered)
	}
	if c.Limits.NewFindings != 1000000 || len(c.Exceptions) != 1 || c.Exceptions[0].Reason != "moves in Q1: NET-1" ||
		len(c.Owners.Teams) != 1 || len(c.HostSources) != 1 {
		t.Errorf("config in the ConfigMap: %+v", c)
	}
}

// TestAuditValidatesTheConfig checks that audit accepts the config in the ConfigMap, and
// rejects mistakes that the schema of the chart does not cover.
func TestAuditValidatesTheConfig(t *testing.T) {
	if testing.Short() {
		t.Skip("needs helm")
	}
	program := build(t)
	for name, tc := range map[string]struct {
		values, says string
		code         int
	}{
		"default":               {"", "valid: ", 0},
		"everything":            {everything, "valid: ", 0},
		"an unknown rule":       {"config: {rules: {owner-knwon: {enabled: false}}}", "owner-knwon", 2},
		"an invalid expression": {"config: {hostSources: [{group: a.b, version: v1, resource: doors, kind: Door, hosts: '('}]}", "hosts", 2},
		"an invalid date":       {"config: {exceptions: [{rule: owner-known, subject: {namespace: a}, reason: r, expires: 2027-02-31}]}", "expires", 2},
	} {
		t.Run(name, func(t *testing.T) {
			conf := file(t, as[configMap](t, render(t, tc.values), "ConfigMap/audit").Data["audit.yaml"])
			cmd := exec.CommandContext(t.Context(), program, "config", "check", conf)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != tc.code || !strings.Contains(string(out), tc.says) {
				t.Errorf("%v, want exit code %d and %q:\n%s", err, tc.code, tc.says, out)
			}
		})
	}
}

package charts

import (
	"os/exec"
	"strings"
	"testing"

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
  slack: {tokenFile: /var/run/secrets/audit/slack/token}
secrets: {slack: audit-slack}
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
		{"a Secret that the config does not use", "secrets: {slack: audit-slack}", "no file in the config is in /var/run/secrets/audit/slack/"},
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
		"an unknown key":        {"config: {clusters: prod}", "clusters", 2},
		"an invalid expression": {"config: {hostSources: [{group: a.b, version: v1, resource: doors, kind: Door, hosts: '('}]}", "hosts", 2},
		"an invalid duration":   {"config: {findings: {keepResolved: 30d}}", "use 720h", 2},
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

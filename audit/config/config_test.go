package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ruleSet has a rule of every sort that the config tells apart.
func ruleSet() []*rules.Rule {
	return []*rules.Rule{
		{
			Name: "one-owner-per-host", Subject: rules.SubjectHost, Severity: rules.High,
			Needs: []snapshot.Kind{snapshot.Ingresses}, Uses: []snapshot.Kind{snapshot.ValidatingPolicies},
		},
		{
			Name: "default-deny-present", Subject: rules.SubjectNamespace, Severity: rules.High,
			Settings: []rules.Setting{rules.SettingDirections, rules.SettingExemptNamespaces},
		},
		{
			Name: "owner-known", Subject: rules.SubjectNamespace, Severity: rules.Low,
			Settings: []rules.Setting{rules.SettingExemptNamespaces},
		},
	}
}

// parse reads a config that is expected to be sound.
func parse(t *testing.T, data string) *config.Config {
	t.Helper()
	c, err := config.Parse([]byte(data), "config.yaml", ruleSet())
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func design() config.Config {
	return config.Config{
		Cluster: "prod-eu-1",
		Owners: config.Owners{
			Keys:             []string{"owner", "team"},
			SharedNamespaces: []config.Glob{"apps"},
			Fallback:         "platform",
			Teams: []config.Team{{
				Name:       "team-a",
				Namespaces: []config.Glob{"shop-*"},
				Slack:      config.TeamSlack{Channel: "C0123456789", Mention: "<!subteam^S0123>"},
			}},
		},
		Rules: map[string]config.Rule{
			"one-owner-per-host": {Severity: config.Severity(rules.High)},
			"default-deny-present": {
				Severity:         config.Severity(rules.High),
				Directions:       []config.Direction{0, 1},
				ExemptNamespaces: []config.Glob{"kube-system", "kube-public", "kube-node-lease"},
			},
		},
		Exceptions: []config.Exception{{
			Rule:    "default-deny-present",
			Subject: config.Subject{Namespace: "legacy"},
			Reason:  "moves to the new network in Q1, TICKET-1",
			Expires: config.Expiry{End: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)},
			At:      config.Position{File: "design.yaml", Line: 14, Path: "exceptions[0]"},
		}},
		Findings:    config.Findings{KeepResolved: config.Duration(30 * 24 * time.Hour)},
		Limits:      config.Limits{NewFindings: 500},
		Slack:       config.Slack{TokenFile: "/var/run/secrets/slack/token", RemindAfter: config.Duration(24 * time.Hour)},
		Pushgateway: config.Pushgateway{URL: "http://pushgateway.monitoring:9091", Timeout: config.Duration(10 * time.Second)},
	}
}

func everything(t *testing.T) config.Config {
	t.Helper()
	yes, no := true, false
	return config.Config{
		Cluster: "prod: eu",
		Owners: config.Owners{
			Keys:             []string{"example.com/owner"},
			SharedNamespaces: []config.Glob{"apps-*", "lab-[0-9]"},
			Fallback:         "nobody-in-teams",
			Teams: []config.Team{
				{
					Name:              "Team B",
					NamespaceSelector: config.Selector{MatchLabels: map[string]string{"tenant": "b", "example.com/stage": ""}},
					Slack:             config.TeamSlack{Channel: "G01", Mention: "<!here>"},
					QuietHours:        config.QuietHours{From: 22 * 60, To: 7 * 60, TimeZone: zone(t, "Europe/Berlin")},
				},
				{
					Name:       "12",
					Namespaces: []config.Glob{"12", "*"},
					Slack:      config.TeamSlack{WebhookFile: "hooks/12", Mention: "<@W012>"},
					QuietHours: config.QuietHours{To: 6*60 + 30},
					ReportOnly: true,
				},
				{Name: "named-by-keys-only"},
			},
		},
		Rules: map[string]config.Rule{
			"one-owner-per-host": {Enabled: &no},
			"default-deny-present": {
				Severity:         config.Severity(rules.Medium),
				Directions:       []config.Direction{1},
				ExemptNamespaces: []config.Glob{},
			},
			"owner-known": {Enabled: &yes, ExemptNamespaces: []config.Glob{"kube-*"}, ReportOnly: true},
		},
		Exceptions: []config.Exception{
			{
				Rule:    "one-owner-per-host",
				Subject: config.Subject{Kind: "Host", Name: "*.example.com"},
				Reason:  "Two teams move this host together.\n",
				Expires: config.Expiry{End: time.Date(2027, 1, 31, 16, 0, 0, 0, time.UTC)},
				At:      config.Position{File: "everything.yaml", Line: 31, Path: "exceptions[0]"},
			},
			{
				Rule:    "default-deny-present",
				Subject: config.Subject{Kind: "Namespace", Name: "legacy", Detail: "Egress"},
				Reason:  "no egress policy yet",
				Expires: config.Expiry{End: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)},
				At:      config.Position{File: "everything.yaml", Line: 37, Path: "exceptions[1]"},
			},
		},
		Findings: config.Findings{KeepResolved: config.Duration(30 * 24 * time.Hour)},
		Limits:   config.Limits{NewFindings: 500},
		Slack: config.Slack{
			TokenFile: "token", RemindAfter: config.Duration(90 * time.Minute),
			ChannelFrom: config.ChannelFrom{
				NamespaceAnnotation: "example.com/channel",
				Allow:               []config.ChannelGlob{"team-*", "C0*", "日本_?"},
			},
		},
		Webhook: config.Webhook{URL: "https://tickets.example.com/audit", SecretFile: "keys/webhook"},
		Events:  true,
		Pushgateway: config.Pushgateway{
			URL: "https://push.example.com:443/base", Timeout: config.Duration(3 * time.Second),
			BasicAuth: config.BasicAuth{Username: "audit", PasswordFile: "/secrets/password"},
			CAFile:    "/secrets/ca.pem", CertFile: "/secrets/tls.crt", KeyFile: "/secrets/tls.key",
		},
	}
}

func TestParseGood(t *testing.T) {
	emptySections := config.Default()
	emptySections.Rules = map[string]config.Rule{"owner-known": {}}
	want := map[string]config.Config{
		"design.yaml":         design(),
		"everything.yaml":     everything(t),
		"empty.yaml":          config.Default(),
		"only-comments.yaml":  config.Default(),
		"empty-sections.yaml": emptySections,
		"host-sources.yaml":   hostSources(t),
	}
	for _, path := range files(t, "testdata/good/*.yaml") {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := config.Parse(data, name, ruleSet())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("config differs from what the file says (-want +got):\n%s", diff)
			}
		})
	}
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return paths
}

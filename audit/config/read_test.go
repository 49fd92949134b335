package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Each file in testdata/bad has its errors beside it, one a line, in a .txt that
// is edited by hand and never written by a test.
func TestParseBad(t *testing.T) {
	for _, path := range files(t, "testdata/bad/*.yaml") {
		name := filepath.Base(path)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(path, ".yaml") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			c, err := config.Parse(data, name, ruleSet())
			if err == nil {
				t.Fatal("nothing was found wrong")
			}
			if diff := cmp.Diff(config.Config{}, c); diff != "" {
				t.Errorf("a config was returned beside the error:\n%s", diff)
			}
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			for _, e := range each(t, err) {
				if e.At.File != name || e.At.Line == 0 || e.At.Line > strings.Count(string(data), "\n")+1 {
					t.Errorf("an error names no line of the file: %s", e)
				}
			}
		})
	}
}

// each returns the errors that Parse joined.
func each(t *testing.T, err error) []*config.Error {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("the error is not joined: %v", err)
	}
	var errs []*config.Error
	for _, one := range joined.Unwrap() {
		var e *config.Error
		if !errors.As(one, &e) {
			t.Fatalf("an error has no position: %v", one)
		}
		errs = append(errs, e)
	}
	return errs
}

func TestParseNotText(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a byte that is not UTF-8", "cluster: a\nowners: {fallback: \xff}\n", "c.yaml: line 2: not UTF-8 text"},
		{"UTF-16", "\xff\xfea\x00", "c.yaml: line 1: not UTF-8 text"},
		{"a control character", "cluster: a\nowners: {fallback: \x01}\n", "c.yaml: line 2: not YAML: control characters are not allowed"},
		{"nested without end", strings.Repeat("[", 20000), "c.yaml: line 1: not YAML: exceeded max depth of 10000"},
		{"too large", strings.Repeat("#", config.MaxSize+1), "c.yaml: larger than 1024 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Parse([]byte(c.data), "c.yaml", ruleSet())
			if got := fmt.Sprint(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParseAtTheSizeLimit(t *testing.T) {
	if _, err := config.Parse([]byte(strings.Repeat("#", config.MaxSize)), "c.yaml", ruleSet()); err != nil {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.yaml")
	if err := os.WriteFile(path, []byte("cluster: prod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := config.Read(path, ruleSet()); err != nil || c.Cluster != "prod" {
		t.Errorf("got cluster %q and error %v, want prod and none", c.Cluster, err)
	}
	if err := os.WriteFile(path, []byte("clustre: prod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Read(path, ruleSet()); err == nil || !strings.HasPrefix(err.Error(), path+": line 1: ") {
		t.Errorf("the error does not name the file as it was given: %v", err)
	}
	_, err := config.Read(filepath.Join(dir, "absent.yaml"), ruleSet())
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error of a missing file is not one line that wraps its cause: %v", err)
	}
	if _, err := config.Read(dir, ruleSet()); err == nil {
		t.Error("a folder was read as a config")
	}
}

// ruleSet has a rule of each kind that the config distinguishes.
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
		{Name: "objects-evaluated", Subject: rules.SubjectObject, Severity: rules.Medium},
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
		Profile: config.Standard,
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
		Hosts:    config.Default().Hosts,
		Findings: config.Findings{KeepResolved: config.Duration(30 * 24 * time.Hour)},
		Limits: config.Limits{
			NewFindings: 500, StoredFindings: 1000, HostsPerObject: 2_000, HostsPerNamespace: 20_000,
			TermsPerObject: 20_000, TermsPerNamespace: 100_000, LabelsPerObject: 500, LabelsPerNamespace: 100_000,
		},
		Slack:       config.Slack{TokenFile: "/var/run/secrets/slack/token", RemindAfter: config.Duration(24 * time.Hour)},
		Pushgateway: config.Pushgateway{URL: "http://pushgateway.monitoring:9091", Timeout: config.Duration(10 * time.Second)},
	}
}

func everything(t *testing.T) config.Config {
	t.Helper()
	yes, no := true, false
	return config.Config{
		Cluster: "prod: eu",
		Profile: config.Strict,
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
			"owner-known": {Enabled: &yes, ExemptNamespaces: []config.Glob{"kube-*"}, ReportOnly: new(true)},
		},
		Exceptions: []config.Exception{
			{
				Rule:    "one-owner-per-host",
				Subject: config.Subject{Kind: "Host", Name: "*.example.com"},
				Reason:  "Two teams move this host together.\n",
				Expires: config.Expiry{End: time.Date(2027, 1, 31, 16, 0, 0, 0, time.UTC)},
				At:      config.Position{File: "everything.yaml", Line: 32, Path: "exceptions[0]"},
			},
			{
				Rule:    "default-deny-present",
				Subject: config.Subject{Kind: "Namespace", Name: "legacy", Detail: "Egress"},
				Reason:  "no egress policy yet",
				Expires: config.Expiry{End: time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)},
				At:      config.Position{File: "everything.yaml", Line: 38, Path: "exceptions[1]"},
			},
		},
		Hosts:    config.Hosts{ExternalDNSPrefixes: []config.AnnotationPrefix{"dns.example.com/"}},
		Findings: config.Findings{KeepResolved: config.Duration(30 * 24 * time.Hour)},
		Limits: config.Limits{
			NewFindings: 500, StoredFindings: 1000, HostsPerObject: 2_000, HostsPerNamespace: 20_000,
			TermsPerObject: 20_000, TermsPerNamespace: 100_000, LabelsPerObject: 500, LabelsPerNamespace: 100_000,
		},
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

// Whatever the file holds, it gives a config or errors that name it, each on
// one printable line, and the same ones when it is read again.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		for _, path := range files(f, pattern) {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, seed := range []string{
		"\xef\xbb\xbfcluster: a\n", "a: &a [*a]\n", "%YAML 1.1\n---\n{}\n", "? ? ? a\n", "- - - - a\n", "<<: {<<: {}}\n",
		"a: |+\n\n\n", "{,}", "!!map {}", "---\n---\n---\n", "cluster: \"\\u202e\\x1b[31m\"\n", "rules: {? {} : {}}\n",
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse(data, "c.yaml", ruleSet())
		again, err2 := config.Parse(data, "c.yaml", ruleSet())
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("the same file gives another config (-first +second):\n%s", diff)
		}
		if err != nil {
			if err2 == nil || err.Error() != err2.Error() {
				t.Errorf("the same file gives other errors:\n%v\n\n%v", err, err2)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != len(each(t, err)) {
				t.Errorf("%d errors on %d lines:\n%v", len(each(t, err)), len(lines), err)
			}
			last := 0
			for _, e := range each(t, err) {
				if !strings.HasPrefix(e.Error(), "c.yaml:") || e.At.Line < last || strings.ContainsAny(e.Error(), "\x1b\r\u202e") {
					t.Errorf("error without a place, out of order or not printable: %q", e)
				}
				last = e.At.Line
			}
			return
		}
		c.Expired(now)
		for i := range c.Owners.Teams {
			q := c.Owners.Teams[i].QuietHours
			if end := q.End(now); q.Quiet(now) && (!end.After(now) || q.Quiet(end)) {
				t.Errorf("quiet hours %+v of %s end %s", q, now, end)
			}
		}
		if from := c.Slack.ChannelFrom; (from.NamespaceAnnotation == "") != (len(from.Allow) == 0) {
			t.Errorf("half of a channel's source was taken: %+v", from)
		}
		if (c.Webhook.URL == "") != (c.Webhook.SecretFile == "") {
			t.Errorf("half of a webhook was taken: %+v", c.Webhook)
		}
		for _, r := range ruleSet() {
			c.Settings(r).Exempt("a")
			for i := range c.Exceptions {
				c.Exceptions[i].Matches(r.Name, rules.Subject{Kind: r.Subject, Name: "a"})
			}
		}
	})
}

func TestNotes(t *testing.T) {
	const (
		noFallback = "owners.fallback: not set: no one is notified of findings without an owner"
		noPlace    = `owners.fallback: "b" is not a team with a Slack channel or webhook: no one is notified of findings without an owner`
		noToken    = "slack.tokenFile: not set: the token must be in the environment variable AUDIT_SLACK_TOKEN"
	)
	for _, c := range []struct {
		says, config string
		want         []string
	}{
		{"nothing of an empty file", "", nil},
		{"nothing about a fallback if no one is notified in Slack", "owners: {fallback: b}", nil},
		{"that a channel needs a token", "owners: {fallback: a, teams: [{name: a, slack: {channel: C0A}}]}", []string{noToken}},
		{"that a Namespace's channel needs one too", "slack: {channelFrom: {namespaceAnnotation: a, allow: ['*']}}", []string{noFallback, noToken}},
		{"not that an incoming webhook does", "owners: {fallback: a, teams: [{name: a, slack: {webhookFile: f}}]}", nil},
		{"that there is no fallback", "owners: {teams: [{name: a, slack: {webhookFile: f}}]}", []string{noFallback}},
		{"that the fallback is not a team", "owners: {fallback: b, teams: [{name: a, slack: {webhookFile: f}}]}", []string{noPlace}},
		{"that the fallback has no place", "owners: {fallback: b, teams: [{name: a, slack: {webhookFile: f}}, {name: b}]}", []string{noPlace}},
		{
			"nothing about it if everyone is notified by the webhook",
			"{owners: {fallback: b, teams: [{name: a, slack: {webhookFile: f}}]}, webhook: {url: 'http://a', secretFile: f}}", nil,
		},
		{
			"that an exception has expired",
			"exceptions: [{rule: owner-known, subject: {name: a}, reason: r, expires: 2026-12-31}]",
			[]string{"config.yaml: line 1: exceptions[0].expires: expired (2026-12-31): extend or remove it"},
		},
	} {
		got := parse(t, c.config).Notes(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("it notes %s (-want +got):\n%s", c.says, diff)
		}
	}
}

// Whatever field a secret lands in, an error never shows it.
func TestErrorsShowNoSecret(t *testing.T) {
	secrets := []string{
		"xoxb-123-hunter2",
		"xoxe.xoxp-1-hunter2",
		"xapp-1-hunter2",
		"https://hooks.slack.com/services/T0/B0/hunter2",
		"http://admin:hunter2@pushgateway:9091",
		"http://admin:hunter2%zz@pushgateway:9091",
		"http://admin:" + strings.Repeat("x", 80) + "hunter2@pushgateway:9091",
		`http://admin:a b"hunter2@pushgateway:9091`,
	}
	templates := []string{
		"%s: 1",
		"owners: {%s: 1}",
		"owners: {keys: [%s]}",
		"owners: {sharedNamespaces: [%s]}",
		"owners: {teams: [{name: a, namespaces: [%s]}]}",
		"owners: {teams: [{name: %[1]s}, {name: %[1]s}]}",
		"owners: {teams: [{name: a, namespaceSelector: {matchLabels: {%[1]s: %[1]s}}}]}",
		"owners: {teams: [{name: a, slack: {channel: %[1]s, mention: %[1]s}}]}",
		"owners: {teams: [{name: a, slack: {webhookFile: %[1]s}}]}",
		"owners: {teams: [{name: a, quietHours: {from: %[1]s, to: %[1]s, timeZone: %[1]s}, reportOnly: %[1]s}]}",
		"owners: %s",
		"rules: {%s: {}}",
		"rules: {default-deny-present: {severity: %[1]s, enabled: %[1]s, directions: [%[1]s], exemptNamespaces: [%[1]s]}}",
		"exceptions: [{rule: %[1]s, subject: {namespace: %[1]s}, reason: r, expires: %[1]s}]",
		"exceptions: [{rule: default-deny-present, subject: {kind: %[1]s, name: %[1]s, detail: %[1]s}}]",
		"hostSources: [{group: %[1]s, version: %[1]s, resource: %[1]s, kind: %[1]s, hosts: %[1]s, wildcard: %[1]s, enabled: %[1]s}]",
		"hostSources: [{group: example.com, resource: %[1]s, enabled: false}]",
		"slack: {token: %s}",
		"slack: {remindAfter: %s, tokenFile: ''}",
		"slack: {tokenFile: %s, remindAfter: 0s}",
		"slack: {channelFrom: {namespaceAnnotation: %[1]s, allow: [%[1]s]}}",
		"webhook: {url: %[1]s, secretFile: %[1]s}",
		"events: %s",
		"pushgateway: {url: %s, x: 1}",
		"pushgateway: {url: !x %s}",
		"pushgateway: {url: *a %s}",
		"pushgateway: {url: %s",
		"pushgateway: {url: [%s]}",
		"pushgateway: {bearerTokenFile: %[1]s, caFile: %[1]s, certFile: %[1]s, keyFile: %[1]s, timeout: %[1]s}",
		"pushgateway: {basicAuth: {username: %[1]s, passwordFile: %[1]s}}",
	}
	for _, template := range templates {
		refused := 0
		for _, secret := range secrets {
			_, err := config.Parse(fmt.Appendf(nil, template, "'"+secret+"'"), "c.yaml", ruleSet())
			if err == nil {
				continue // to a label key, a token is as good as any word
			}
			refused++
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("an error shows the secret: %v", err)
			}
		}
		if refused == 0 {
			t.Errorf("no secret is refused, so nothing was tested: %s", template)
		}
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

func TestDisplayName(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/local/bin/audit": "audit", "audit.exe": "audit", "main.test": "audit", "": "audit", "kubectl-": "audit",
		"/opt/kubectl-audit": "kubectl audit", "kubectl-audit.exe": "kubectl audit",
		"/home/jane/.krew/bin/kubectl-eventually_true": "kubectl eventually-true",
	} {
		if got := displayName(path); got != want {
			t.Errorf("%s is called as %q, want %q", path, got, want)
		}
	}
}

// TestHelpOfAPluginCallsThePlugin: a user of kubectl can paste each example.
func TestHelpOfAPluginCallsThePlugin(t *testing.T) {
	for _, args := range [][]string{
		{"--help"}, {"findings", "--help"}, {"owners", "--help"}, {"rules", "--help"}, {"config", "check", "--help"}, {"config", "--help"},
	} {
		var out, errs bytes.Buffer
		code := run(command{
			path: "/root/.krew/bin/kubectl-eventually_true", args: args, in: strings.NewReader(""), out: &out, err: &errs,
			getenv: func(string) string { return "" }, now: func() time.Time { return today },
		})
		if code != 0 || !strings.Contains(out.String(), "\n  kubectl eventually-true ") {
			t.Errorf("%v: exit code %d:\n%s%s", args, code, &out, &errs)
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "  audit ") || strings.Contains(line, "| audit ") || strings.Contains(line, "\"audit ") {
				t.Errorf("%v: %s", args, line)
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	kubeconfig := configured(t, "apiVersion: v1\nkind: Config\ncontexts:\n- {name: prod, context: {}}\n- {name: test, context: {}}\n")
	config := configured(t, "owners: {teams: [{name: team-a, namespaces: [a]}, {name: team-b, namespaces: [b]}, {name: '$(reboot)', namespaces: [c]}]}\n")
	for _, tt := range []struct{ args, want string }{
		{"rules|", "default-deny-present"},
		{"--once|--rule|one-owner-per-", "one-owner-per-host"},
		{"--kubeconfig|" + kubeconfig + "|--context|", "prod\ntest\n:4\n"},
		{"-o|", "table\nwide\njson\nyaml\n:4\n"},
		{"--fail-on|", "none\nlow\nmedium\nhigh\n:4\n"},
		{"findings|--state|", "pending\nopen\nresolved\nexcepted\nretired\n:4\n"},
		{"config|explain|slack.tok", "slack.tokenFile"},
	} {
		got := execute(append([]string{"__complete"}, strings.Split(tt.args, "|")...)...)
		if got.code != 0 || !strings.Contains(got.stdout, tt.want) {
			t.Errorf("%s: exit code %d, want %q:\n%s", tt.args, got.code, tt.want, got.stdout)
		}
	}
	cmd := newRoot(command{})
	if err := cmd.Flags().Set("config", config); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Flags().Set("kubeconfig", "/dev/null"); err != nil {
		t.Fatal(err)
	}
	if got, _ := completeOwners(cmd, nil, ""); strings.Join(got, " ") != "team-a team-b" {
		t.Errorf("owners of the config: %v", got)
	}
}

func TestCompletionKnowsStoredFindings(t *testing.T) {
	c, args := publishing(t)
	sweep(t, 0, args...)
	kubeconfig := c.Kubeconfig(kubetest.Guest)
	got := execute("__complete", "findings", "--kubeconfig", kubeconfig, "").stdout // shells filter by what was typed
	if !strings.Contains(got, "\tbasket.example.com\n") || !strings.Contains(got, "owner-known-") {
		t.Errorf("findings:\n%s", got)
	}
	if got := execute("__complete", "findings", "--kubeconfig", kubeconfig, "--owner", "").stdout; !strings.Contains(got, "storefront\n") {
		t.Errorf("owners:\n%s", got)
	}
}

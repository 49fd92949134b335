package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/config"
)

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

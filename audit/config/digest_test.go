package config_test

import (
	"testing"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules/catalog"
)

func TestDigestIsThatOfWhatAConfigMakesOfACluster(t *testing.T) {
	digest := func(text string) string {
		c, err := config.Parse([]byte(text), "test", catalog.All())
		if err != nil {
			t.Fatal(err)
		}
		return c.Digest()
	}
	const team = "owners: {teams: [{name: a, slack: {channel: C01}, quietHours: {from: \"22:00\", to: \"06:00\", timeZone: Europe/Berlin}}]}\n"
	base := digest(team)
	for _, same := range []string{
		"# a comment\n" + team, "cluster: other\n" + team, team + "slack: {tokenFile: /elsewhere}\n",
		"cluster: other\n" + team + "pushgateway: {url: \"http://gateway\"}\n", team + "rules: {}\n",
	} {
		if digest(same) != base {
			t.Errorf("%s: another digest", same)
		}
	}
	seen := map[string]string{base: team}
	for _, other := range []string{
		"", "owners: {teams: [{name: a, slack: {channel: C02}}]}\n", "owners: {teams: [{name: b, slack: {channel: C01}}]}\n",
		team + "hostSources: [{group: example.com, version: v1, resource: doors, kind: Door, hosts: object.spec.a}]\n",
		team + "hostSources: [{group: example.com, version: v1, resource: doors, kind: Door, hosts: object.spec.b}]\n",
		team + "slack: {remindAfter: 1h}\n", team + "rules: {one-owner-per-host: {severity: low}}\n",
		team + "rules: {one-owner-per-host: {enabled: false}}\n", team + "rules: {one-owner-per-host: {for: 1h}}\n",
		team + "rules: {default-deny-present: {exemptNamespaces: []}}\n", team + "rules: {default-deny-present: {}}\n",
		team + "exceptions: [{rule: default-deny-present, subject: {namespace: x}, reason: r, expires: 2030-01-01}]\n",
		team + "exceptions: [{rule: default-deny-present, subject: {namespace: x}, reason: r, expires: 2030-01-02}]\n",
		"owners: {teams: [{name: a, slack: {channel: C01}, quietHours: {from: \"22:00\", to: \"06:00\", timeZone: Europe/Paris}}]}\n",
	} {
		d := digest(other)
		if was, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", other, was)
		}
		seen[d] = other
	}
}

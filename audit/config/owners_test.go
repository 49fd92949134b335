package config_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

const registry = `
owners:
  sharedNamespaces: ["apps", "lab-*"]
  teams:
    - name: by-name
      namespaces: [shop, "shop-*"]
    - name: by-label
      namespaceSelector: {matchLabels: {tenant: b, stage: prod}}
    - name: by-either
      namespaces: [either]
      namespaceSelector: {matchLabels: {tenant: c}}
    - name: named-by-keys-only
    - name: the-rest-of-shops
      namespaces: ["sh*"]
`

func TestForNamespace(t *testing.T) {
	owners := parse(t, registry).Owners
	for _, c := range []struct {
		says, namespace string
		labels          map[string]string
		team, by        string
	}{
		{"a pattern claims a name", "shop-eu", nil, "by-name", `namespaces "shop-*"`},
		{"the first of two patterns is told", "shop", nil, "by-name", `namespaces "shop"`},
		{"the first of two teams wins", "shop-eu", map[string]string{"tenant": "c"}, "by-name", `namespaces "shop-*"`},
		{"a later team has what is left", "shoes", nil, "the-rest-of-shops", `namespaces "sh*"`},
		{"all labels claim", "x", map[string]string{"tenant": "b", "stage": "prod", "more": "1"}, "by-label", "namespaceSelector stage=prod,tenant=b"},
		{"one of two labels claims nothing", "x", map[string]string{"tenant": "b"}, "", ""},
		{"another value claims nothing", "x", map[string]string{"tenant": "b", "stage": "test"}, "", ""},
		{"either the name is enough", "either", nil, "by-either", `namespaces "either"`},
		{"or the label", "x", map[string]string{"tenant": "c"}, "by-either", "namespaceSelector tenant=c"},
		{"nobody claims the rest, also not a team without claims", "x", nil, "", ""},
	} {
		team, by := owners.ForNamespace(c.namespace, snapshot.NewLabels(c.labels))
		name := ""
		if team != nil {
			name = team.Name
		}
		if name != c.team || by != c.by {
			t.Errorf("%s: got team %q by %q, want %q by %q", c.says, name, by, c.team, c.by)
		}
	}
}

func TestTeam(t *testing.T) {
	owners := parse(t, registry).Owners
	if team := owners.Team("by-label"); team != &owners.Teams[1] {
		t.Errorf("got team %v, want that of the registry", team)
	}
	if team := owners.Team("By-label"); team != nil {
		t.Errorf("another spelling found team %s", team.Name)
	}
}

func TestShared(t *testing.T) {
	owners := parse(t, registry).Owners
	for namespace, want := range map[string]bool{"apps": true, "lab-1": true, "apps-1": false} {
		if got := owners.Shared(namespace); got != want {
			t.Errorf("namespace %s is shared: got %v, want %v", namespace, got, want)
		}
	}
}

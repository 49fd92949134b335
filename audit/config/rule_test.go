package config_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestSettings(t *testing.T) {
	both := []snapshot.Direction{snapshot.DirectionIngress, snapshot.DirectionEgress}
	kubernetes := []config.Glob{"kube-system", "kube-public", "kube-node-lease"}
	for _, c := range []struct {
		says, data, rule string
		want             config.Settings
	}{
		{
			"a rule that takes nothing has no defaults", "", "one-owner-per-host",
			config.Settings{Enabled: true, Severity: rules.High},
		},
		{
			"one that takes all has all defaults", "", "default-deny-present",
			config.Settings{Enabled: true, Severity: rules.High, Directions: both, ExemptNamespaces: kubernetes},
		},
		{
			"one that takes some has those", "", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: kubernetes},
		},
		{
			"a rule without anything in it has the defaults", "rules: {owner-known: }", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: kubernetes},
		},
		{
			"the file sets the severity and nothing else", "rules: {owner-known: {severity: high}}", "owner-known",
			config.Settings{Enabled: true, Severity: rules.High, ExemptNamespaces: kubernetes},
		},
		{
			"the file switches a rule off", "rules: {owner-known: {enabled: false}}", "owner-known",
			config.Settings{Severity: rules.Low, ExemptNamespaces: kubernetes},
		},
		{
			"a list takes the place of the default", "rules: {owner-known: {exemptNamespaces: [legacy]}}", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: []config.Glob{"legacy"}},
		},
		{
			"an empty list exempts nothing", "rules: {owner-known: {exemptNamespaces: []}}", "owner-known",
			config.Settings{Enabled: true, Severity: rules.Low, ExemptNamespaces: []config.Glob{}},
		},
		{
			"directions are sorted", "rules: {default-deny-present: {directions: [Egress, Ingress]}}", "default-deny-present",
			config.Settings{Enabled: true, Severity: rules.High, Directions: both, ExemptNamespaces: kubernetes},
		},
		{
			"one direction is one", "rules: {default-deny-present: {directions: [Egress]}}", "default-deny-present",
			config.Settings{Enabled: true, Severity: rules.High, Directions: both[1:], ExemptNamespaces: kubernetes},
		},
	} {
		cfg := parse(t, c.data)
		for _, r := range ruleSet() {
			if r.Name != c.rule {
				continue
			}
			if diff := cmp.Diff(c.want, cfg.Settings(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.says, diff)
			}
		}
	}
}

func TestSettingsExempt(t *testing.T) {
	cfg := parse(t, "rules: {owner-known: {exemptNamespaces: [legacy, 'lab-*']}}")
	s := cfg.Settings(ruleSet()[2])
	for namespace, want := range map[string]bool{"legacy": true, "lab-1": true, "kube-system": false} {
		if got := s.Exempt(namespace); got != want {
			t.Errorf("namespace %s is exempt: got %v, want %v", namespace, got, want)
		}
	}
}

func TestExceptionMatches(t *testing.T) {
	legacy := rules.Subject{Kind: "Namespace", Name: "legacy-1", Detail: "Egress"}
	host := rules.Subject{Kind: "Host", Name: "*.example.com"}
	object := rules.Subject{Kind: "Ingress", Namespace: "legacy-1", Name: "shop"}
	for _, c := range []struct {
		says    string
		rule    string
		pattern config.Subject
		subject rules.Subject
		want    bool
	}{
		{"a glob is for the name of a Namespace", "r", config.Subject{Namespace: "legacy-*"}, legacy, true},
		{"and for the namespace of anything else", "r", config.Subject{Namespace: "legacy-*"}, object, true},
		{"a glob that is another's is not for it", "r", config.Subject{Namespace: "lab-*"}, legacy, false},
		{"a host is in no namespace", "r", config.Subject{Namespace: "legacy-*"}, host, false},
		{"a name is exact", "r", config.Subject{Name: "legacy-1"}, legacy, true},
		{"a name is not a glob", "r", config.Subject{Name: "legacy-*"}, legacy, false},
		{"a wildcard host is a name", "r", config.Subject{Name: "*.example.com"}, host, true},
		{"it is not for the hosts under it", "r", config.Subject{Name: "*.example.com"}, rules.Subject{Kind: "Host", Name: "a.example.com"}, false},
		{"the detail must match", "r", config.Subject{Namespace: "*", Detail: "Egress"}, legacy, true},
		{"another detail does not", "r", config.Subject{Namespace: "*", Detail: "Ingress"}, legacy, false},
		{"the kind must match", "r", config.Subject{Kind: "Namespace", Name: "legacy-1"}, legacy, true},
		{"another kind does not", "r", config.Subject{Kind: "Host", Name: "legacy-1"}, legacy, false},
		{"the rule must match", "other", config.Subject{Name: "legacy-1"}, legacy, false},
		{"an empty subject is for nothing", "r", config.Subject{}, legacy, false},
	} {
		e := config.Exception{Rule: "r", Subject: c.pattern}
		if got := e.Matches(c.rule, c.subject); got != c.want {
			t.Errorf("%s: got %v, want %v", c.says, got, c.want)
		}
	}
}

func TestExpired(t *testing.T) {
	c := parse(t, `exceptions:
  - {rule: owner-known, subject: {name: a}, reason: r, expires: 2027-03-31}
  - {rule: owner-known, subject: {name: b}, reason: r, expires: 2027-04-01}
  - rule: owner-known
    subject: {name: c}
    reason: r
    expires: 2027-03-31T18:00:00Z
`)
	var got []string
	for _, e := range c.Expired(time.Date(2027, 4, 1, 0, 0, 0, 0, time.UTC)) {
		got = append(got, e.Error())
	}
	want := []string{
		"config.yaml: line 2: exceptions[0].expires: expired (2027-03-31): extend or remove it",
		"config.yaml: line 4: exceptions[2].expires: expired (2027-03-31T18:00:00Z): extend or remove it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("expired exceptions (-want +got):\n%s", diff)
	}
	if e := c.Expired(time.Date(2027, 3, 31, 0, 0, 0, 0, time.UTC)); len(e) != 0 {
		t.Errorf("expired before its end: %v", e)
	}
	var expired *config.ExpiredError
	if err := error(c.Expired(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))[1]); !errors.As(err, &expired) || expired.Exception != &c.Exceptions[1] {
		t.Errorf("the error does not lead to the exception: %v", err)
	}
}

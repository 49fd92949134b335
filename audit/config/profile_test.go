package config_test

import (
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestProfiles(t *testing.T) {
	both := []snapshot.Direction{snapshot.DirectionIngress, snapshot.DirectionEgress}
	ingress := both[:1]
	for _, c := range []struct {
		says, file, rule string
		severity         rules.Severity
		directions       []snapshot.Direction
		reportOnly       bool
	}{
		{"the default is standard", "", "default-deny-present", rules.High, both, false},
		{"observe asks for one direction and notifies no one", "profile: observe", "default-deny-present", rules.Medium, ingress, true},
		{"observe keeps a stolen host urgent", "profile: observe", "one-owner-per-host", rules.High, nil, true},
		{"observe does not go below low", "profile: observe", "owner-known", rules.Low, nil, true},
		{"strict raises what is asked of namespaces", "profile: strict", "owner-known", rules.Medium, nil, false},
		{"strict does not go above high", "profile: strict", "default-deny-present", rules.High, both, false},
		{
			"the file wins over the profile",
			"{profile: observe, rules: {default-deny-present: {severity: low, directions: [Egress], reportOnly: false}}}",
			"default-deny-present", rules.Low, both[1:], false,
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			cfg, err := config.Parse([]byte(c.file), "audit.yaml", catalog.All())
			if err != nil {
				t.Fatal(err)
			}
			all := catalog.All()
			s := cfg.Settings(all[slices.IndexFunc(all, func(r *rules.Rule) bool { return r.Name == c.rule })])
			if s.Severity != c.severity || !slices.Equal(s.Directions, c.directions) || s.ReportOnly != c.reportOnly {
				t.Errorf("got %s, %v, report only %t; want %s, %v, %t",
					s.Severity, s.Directions, s.ReportOnly, c.severity, c.directions, c.reportOnly)
			}
			if cfg.ReportOnly(c.rule) != c.reportOnly {
				t.Errorf("Config.ReportOnly(%s) is %t", c.rule, !c.reportOnly)
			}
		})
	}
}

func TestUnknownProfile(t *testing.T) {
	_, err := config.Parse([]byte("profile: relaxed"), "audit.yaml", catalog.All())
	if err == nil {
		t.Fatal("an unknown profile was accepted")
	}
	want := "audit.yaml: line 1: profile: \"relaxed\" is not a valid profile: use observe, standard or strict"
	if got := err.Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

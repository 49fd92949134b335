package config_test

import (
	"encoding"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/ownership"
)

func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"shop", "shop", true},
		{"shop", "shop-eu", false},
		{"shop", "a-shop", false},
		{"shop-*", "shop-eu", true},
		{"shop-*", "shop-", true},
		{"shop-*", "shop", false},
		{"*-eu", "shop-eu", true},
		{"s?op", "shop", true},
		{"s?op", "sop", false},
		{"lab-[0-3]", "lab-2", true},
		{"lab-[0-3]", "lab-4", false},
		{"lab-[^0-3]", "lab-4", true},
		{"*", "", true},
		{"*", "anything", true},
		{"*", "even/with/slashes", true},
		{"a[", "a[", false},
	} {
		if got := config.Glob(c.glob).Match(c.name); got != c.want {
			t.Errorf("glob %q on %q: got %v, want %v", c.glob, c.name, got, c.want)
		}
	}
}

// Values that are refused are in testdata/bad, with their errors.
func TestValuesTaken(t *testing.T) {
	for _, c := range []struct {
		into encoding.TextUnmarshaler
		text []string
	}{
		{new(config.Channel), []string{"C0123456789", "G012", "D0A"}},
		{new(config.Mention), []string{"<@U012>", "<@W012>", "<!subteam^S012>", "<!here>", "<!channel>"}},
		{new(config.Duration), []string{"24h", "1h30m", "90s", "0.5h"}},
		{new(config.Expiry), []string{"2027-03-31", "2028-02-29", "2027-03-31T18:00:00Z", "2027-03-31T18:00:00.5+02:00"}},
		{new(config.Glob), []string{"a", "*", "a-*-b", "?", "[a-c]*", "[^A-Z]", `\a`}},
		{new(config.URL), []string{"http://pushgateway:9091", "https://[::1]:443/base/", "HTTP://h"}},
		{new(config.Severity), []string{"low", "medium", "high"}},
		{new(config.Direction), []string{"Ingress", "Egress"}},
		{new(config.TimeOfDay), []string{"00:00", "07:00", "23:59"}},
		{new(config.TimeZone), []string{"UTC", "Europe/Berlin", "Asia/Kathmandu"}},
		{new(config.ChannelGlob), []string{"team-*", "team_a", "*", "C0123", "C0*", "[tT]eam", "チーム-*"}},
	} {
		for _, text := range c.text {
			if err := c.into.UnmarshalText([]byte(text)); err != nil {
				t.Errorf("%T refuses %q: %v", c.into, text, err)
			}
		}
	}
}

func TestExpiryPassed(t *testing.T) {
	for _, c := range []struct {
		says, expiry, now string
		want              bool
	}{
		{"a date counts to its last moment", "2027-03-31", "2027-03-31T23:59:59.999999999Z", false},
		{"a date is over when the next day begins", "2027-03-31", "2027-04-01T00:00:00Z", true},
		{"a day is a day in UTC", "2027-03-31", "2027-04-01T01:00:00+02:00", false},
		{"the day before is not over", "2028-02-29", "2028-02-28T12:00:00Z", false},
		{"a time is over when it is reached", "2027-03-31T18:00:00Z", "2027-03-31T18:00:00Z", true},
		{"a time is not over before", "2027-03-31T18:00:00Z", "2027-03-31T17:59:59Z", false},
		{"a time has a zone", "2027-03-31T18:00:00+02:00", "2027-03-31T16:30:00Z", true},
	} {
		var e config.Expiry
		if err := e.UnmarshalText([]byte(c.expiry)); err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Passed(now); got != c.want {
			t.Errorf("%s: %s at %s: got %v, want %v", c.says, c.expiry, c.now, got, c.want)
		}
		if e.String() != c.expiry {
			t.Errorf("expiry %s is spelled %s", c.expiry, e)
		}
	}
}

func TestHowFindingsLive(t *testing.T) {
	const file = `
rules:
  owner-known: {for: 2 sweeps}
  one-owner-per-host: {for: 30m}
findings: {keepResolved: 48h}
limits: {newFindings: 20}
`
	c, err := config.Parse([]byte(file), "audit.yaml", catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[*rules.Rule]config.Hold{
		ownership.Rule(): {Sweeps: 2},
		hosts.Rule():     {For: 30 * time.Minute},
		isolation.Rule(): {},
	} {
		if got := c.Settings(rule).Hold; got != want {
			t.Errorf("%s is held for %+v, want %+v", rule.Name, got, want)
		}
	}
	if time.Duration(c.Findings.KeepResolved) != 48*time.Hour || c.Limits.NewFindings != 20 {
		t.Errorf("findings %+v, limits %+v", c.Findings, c.Limits)
	}
}

func TestMistakesInHowFindingsLive(t *testing.T) {
	for text, want := range map[string]string{
		"rules: {owner-known: {for: twice}}":     `rules.owner-known.for: "twice" is not a valid duration, such as 30m, or number of sweeps`,
		"rules: {owner-known: {for: -1 sweeps}}": "or number of sweeps, such as 2 sweeps",
		"limits: {newFindings: 0}":               "limits.newFindings: \"0\" is not a positive integer",
		"limits: {newFindings: many}":            "limits.newFindings",
		"findings: {keepResolved: 30d}":          "findings.keepResolved: \"30d\" is in days: use 720h",
	} {
		_, err := config.Parse([]byte(text), "audit.yaml", catalog.All())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

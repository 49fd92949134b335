package config_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
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
		{"the first of two patterns is named", "shop", nil, "by-name", `namespaces "shop"`},
		{"the first of two teams wins", "shop-eu", map[string]string{"tenant": "c"}, "by-name", `namespaces "shop-*"`},
		{"a later team has what is left", "shoes", nil, "the-rest-of-shops", `namespaces "sh*"`},
		{"all labels claim", "x", map[string]string{"tenant": "b", "stage": "prod", "more": "1"}, "by-label", "namespaceSelector stage=prod,tenant=b"},
		{"one of two labels claims nothing", "x", map[string]string{"tenant": "b"}, "", ""},
		{"another value claims nothing", "x", map[string]string{"tenant": "b", "stage": "test"}, "", ""},
		{"either the name is enough", "either", nil, "by-either", `namespaces "either"`},
		{"or the label", "x", map[string]string{"tenant": "c"}, "by-either", "namespaceSelector tenant=c"},
		{"no team claims the rest, not even one without claims", "x", nil, "", ""},
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

func zone(t *testing.T, name string) config.TimeZone {
	t.Helper()
	var z config.TimeZone
	if err := z.UnmarshalText([]byte(name)); err != nil {
		t.Fatal(err)
	}
	return z
}

func quiet(t *testing.T, from, to, name string) config.QuietHours {
	t.Helper()
	q := config.QuietHours{TimeZone: zone(t, name)}
	for text, into := range map[string]*config.TimeOfDay{from: &q.From, to: &q.To} {
		if err := into.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func TestQuietHours(t *testing.T) {
	for _, c := range []struct {
		says, from, to, zone, now string
		end                       string // empty: not quiet
	}{
		{"they begin with their first minute", "22:00", "07:00", "UTC", "2026-05-01T22:00:00Z", "2026-05-02T07:00:00Z"},
		{"a moment before them is loud", "22:00", "07:00", "UTC", "2026-05-01T21:59:59Z", ""},
		{"after midnight they are those of the day before", "22:00", "07:00", "UTC", "2026-05-01T01:00:00Z", "2026-05-01T07:00:00Z"},
		{"the minute of their end is loud", "22:00", "07:00", "UTC", "2026-05-01T07:00:00Z", ""},
		{"within a day they end on it", "12:00", "13:30", "UTC", "2026-05-01T13:29:59Z", "2026-05-01T13:30:00Z"},
		{"within a day the night is loud", "12:00", "13:30", "UTC", "2026-05-01T01:00:00Z", ""},
		{"to midnight they end with the day", "18:00", "00:00", "UTC", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"},
		{"from midnight they begin with the day", "00:00", "06:30", "UTC", "2027-01-01T00:00:00Z", "2027-01-01T06:30:00Z"},
		{"all but a minute of the day can be quiet", "07:01", "07:00", "UTC", "2026-05-01T06:59:00Z", "2026-05-01T07:00:00Z"},
		{"the clock is that of the zone, in summer", "22:00", "07:00", "Europe/Berlin", "2026-07-01T20:00:00Z", "2026-07-02T05:00:00Z"},
		{"and in winter", "22:00", "07:00", "Europe/Berlin", "2026-01-01T20:00:00Z", ""},
		{"a night in which clocks go forward ends by the clock", "22:00", "07:00", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T05:00:00Z"},
		{"a night in which they go back too", "22:00", "07:00", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T06:00:00Z"},
		{"an end that comes twice is one of the two", "22:00", "02:30", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T01:30:00Z"},
		{"and they last until then without a break", "22:00", "02:30", "Europe/Berlin", "2026-10-25T00:59:00Z", "2026-10-25T01:30:00Z"},
		{"the day of the zone is another than that of the moment", "22:00", "07:00", "Asia/Tokyo", "2026-05-01T13:00:00Z", "2026-05-01T22:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		q := quiet(t, c.from, c.to, c.zone)
		got := ""
		if end := q.End(now); !end.IsZero() {
			got = end.UTC().Format(time.RFC3339)
		}
		if got != c.end || q.Quiet(now) != (c.end != "") {
			t.Errorf("%s: quiet is %v until %q, want until %q", c.says, q.Quiet(now), got, c.end)
		}
	}
	if q := (config.QuietHours{}); q.Quiet(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error("a team without quiet hours has some")
	}
}

// Whoever waits for the end and no longer sends once: it is quiet up to the end,
// loud at it, and every moment before has the same end.
func TestQuietHoursEndOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	zones := []string{"UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	met := 0
	for range 20000 {
		q := config.QuietHours{
			From: config.TimeOfDay(random.IntN(24 * 60)), To: config.TimeOfDay(random.IntN(24 * 60)),
			TimeZone: zone(t, zones[random.IntN(len(zones))]),
		}
		now := begin.Add(time.Duration(random.Int64N(int64(365 * 24 * time.Hour))))
		end := q.End(now)
		if end.IsZero() {
			continue
		}
		met++
		between := now.Add(time.Duration(random.Int64N(int64(end.Sub(now)))))
		switch {
		case !end.After(now), end.Sub(now) > 26*time.Hour:
			t.Fatalf("%s to %s in %s: at %s the end is %s", q.From, q.To, q.TimeZone, now, end)
		case q.Quiet(end):
			t.Fatalf("%s to %s in %s: still quiet at the end, %s", q.From, q.To, q.TimeZone, end)
		case !q.End(between).Equal(end):
			t.Fatalf("%s to %s in %s: the end is %s at %s and %s at %s", q.From, q.To, q.TimeZone, end, now, q.End(between), between)
		}
	}
	if met < 1000 {
		t.Errorf("only %d moments were quiet, so little was tested", met)
	}
}

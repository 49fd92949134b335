package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Owners configures who owns what.
type Owners struct {
	// Keys are the keys that name the owner of an object, in order of precedence;
	// for each, the label comes before the annotation.
	Keys []string `yaml:"keys"`
	// SharedNamespaces are namespaces in which the owner key of an object takes
	// precedence over that of its Namespace.
	SharedNamespaces []Glob `yaml:"sharedNamespaces"`
	// Fallback is notified of findings without an owner. It need not be one of
	// Teams.
	Fallback string `yaml:"fallback"`
	Teams    []Team `yaml:"teams"` // in the order of the file
}

// Team is an entry of the registry of owners.
type Team struct {
	Name string `yaml:"name"`
	// Namespaces and NamespaceSelector each claim Namespaces for the team. One of
	// them is enough; a team with neither is only named by owner keys.
	Namespaces        []Glob    `yaml:"namespaces"`
	NamespaceSelector Selector  `yaml:"namespaceSelector"`
	Slack             TeamSlack `yaml:"slack"`
	// QuietHours are when the team gets no messages.
	QuietHours QuietHours `yaml:"quietHours"`
	// ReportOnly stores and counts findings of the team, but does not notify it.
	ReportOnly bool `yaml:"reportOnly"`
}

// TeamSlack is where in Slack a team is notified. It comes only from the config,
// never from an object, so that a tenant cannot make the tool mention others.
type TeamSlack struct {
	// Channel needs the bot token. WebhookFile is the path of a file with the URL of
	// an incoming webhook, which needs no token and does not support threads. At
	// most one of them is set.
	Channel     Channel `yaml:"channel"`
	WebhookFile string  `yaml:"webhookFile"`
	Mention     Mention `yaml:"mention"` // empty: no one is mentioned
}

// HasDestination reports whether the team can be notified in Slack.
func (s TeamSlack) HasDestination() bool { return s.Channel != "" || s.WebhookFile != "" }

// Selector selects Namespaces by labels, which tenants cannot set on their own
// Namespace. The zero value selects none.
type Selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"` // all of them must match
}

// Matches reports whether the labels of a Namespace match the selector.
func (s Selector) Matches(labels snapshot.Labels) bool {
	for key, want := range s.MatchLabels {
		if got, ok := labels.Get(key); !ok || got != want {
			return false
		}
	}
	return len(s.MatchLabels) > 0
}

// String returns the labels in the syntax of kubectl's -l, sorted by key.
func (s Selector) String() string {
	pairs := make([]string, 0, len(s.MatchLabels))
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		pairs = append(pairs, key+"="+s.MatchLabels[key])
	}
	return strings.Join(pairs, ",")
}

// Team returns the team of that name, or nil.
func (o *Owners) Team(name string) *Team {
	for i := range o.Teams {
		if o.Teams[i].Name == name {
			return &o.Teams[i]
		}
	}
	return nil
}

// ForNamespace returns the first team in the order of the file that claims a
// Namespace, and what claims it, for people: `namespaces "shop-*"` or
// `namespaceSelector tenant=shop`. It returns nil if no team does.
func (o *Owners) ForNamespace(name string, labels snapshot.Labels) (team *Team, by string) {
	for i := range o.Teams {
		team := &o.Teams[i]
		if glob, ok := firstMatch(team.Namespaces, name); ok {
			return team, `namespaces "` + string(glob) + `"`
		}
		if team.NamespaceSelector.Matches(labels) {
			return team, "namespaceSelector " + team.NamespaceSelector.String()
		}
	}
	return nil, ""
}

// Shared reports whether the config lists a namespace as shared. A label can also
// make a Namespace shared, which the config does not know.
func (o *Owners) Shared(namespace string) bool { return anyMatch(o.SharedNamespaces, namespace) }

// QuietHours are a part of each day in which a team gets no messages: pending
// messages are sent when they end. The zero value is none.
type QuietHours struct {
	From TimeOfDay `yaml:"from"`
	// To is the first minute after the quiet hours, on the next day if it is earlier
	// than From.
	To       TimeOfDay `yaml:"to"`
	TimeZone TimeZone  `yaml:"timeZone"`
}

// Quiet reports whether a time is in the quiet hours.
func (q QuietHours) Quiet(now time.Time) bool { return !q.End(now).IsZero() }

// End returns when the quiet hours that contain a time end, and the zero time if
// none do.
func (q QuietHours) End(now time.Time) time.Time {
	if q.From == q.To {
		return time.Time{}
	}
	zone := q.TimeZone.Location()
	year, month, day := now.In(zone).Date()
	// Compare instants, not clocks: in the night in which clocks are set back, the
	// same minute occurs twice, and a team must not be woken between the two.
	for _, begun := range []int{day, day - 1} {
		ends := begun
		if q.To < q.From {
			ends++
		}
		from, to := q.From.on(year, month, begun, zone), q.To.on(year, month, ends, zone)
		if !now.Before(from) && now.Before(to) {
			return to
		}
	}
	return time.Time{}
}

// TimeOfDay is a time of day in minutes since midnight.
type TimeOfDay int

var looksLikeTime = regexp.MustCompile(`^[0-9]{2}:[0-9]{2}$`)

// UnmarshalText reads hours and minutes, from 00:00 to 23:59.
func (t *TimeOfDay) UnmarshalText(text []byte) error {
	s := string(text)
	at, err := time.Parse("15:04", s)
	switch {
	case s == "24:00":
		return fmt.Errorf("%s is not a valid time of day: use 00:00 for midnight", shown(s))
	case err != nil || !looksLikeTime.MatchString(s):
		return fmt.Errorf("%s is not a valid time of day: use hours and minutes, such as 07:00 or 22:30", shown(s))
	}
	*t = TimeOfDay(60*at.Hour() + at.Minute())
	return nil
}

// String returns what UnmarshalText reads.
func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", t/60, t%60) }

// on returns the time on a day, which may be before the first or after the last of
// the month.
func (t TimeOfDay) on(year int, month time.Month, day int, zone *time.Location) time.Time {
	return time.Date(year, month, day, int(t)/60, int(t)%60, 0, 0, zone)
}

// TimeZone is a zone of the IANA time zone database. The zero value is UTC.
type TimeZone struct {
	location *time.Location
}

// UnmarshalText reads the name of a zone. The local zone is rejected, since the same
// file would mean something else on another machine.
func (z *TimeZone) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		return fmt.Errorf("must not be empty: omit the key for UTC")
	}
	location, err := time.LoadLocation(s)
	// The error of package time quotes its input.
	if err != nil || s == "Local" {
		return fmt.Errorf("%s is not a valid time zone: use a name such as Europe/Berlin, or UTC", shown(s))
	}
	z.location = location
	return nil
}

// Location returns the zone as a time.Location.
func (z TimeZone) Location() *time.Location {
	if z.location == nil {
		return time.UTC
	}
	return z.location
}

// String returns the name of the zone.
func (z TimeZone) String() string { return z.Location().String() }

// Equal reports whether two zones have the same name.
func (z TimeZone) Equal(o TimeZone) bool { return z.String() == o.String() }

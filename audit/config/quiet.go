package config

import (
	"fmt"
	"regexp"
	"time"
)

// QuietHours are a part of each day in which a team is sent nothing: what is due
// waits until they are over. The zero value is none.
type QuietHours struct {
	From TimeOfDay `yaml:"from"`
	// To is the first minute at which it is over; on the next day where it is
	// earlier than From.
	To       TimeOfDay `yaml:"to"`
	TimeZone TimeZone  `yaml:"timeZone"`
}

// Quiet reports whether a moment lies in the quiet hours.
func (q QuietHours) Quiet(now time.Time) bool { return !q.End(now).IsZero() }

// End returns when the quiet hours that a moment lies in are over, and the zero
// time outside of them.
func (q QuietHours) End(now time.Time) time.Time {
	if q.From == q.To {
		return time.Time{}
	}
	zone := q.TimeZone.Location()
	year, month, day := now.In(zone).Date()
	// Moments are compared, not clocks: in the night in which clocks go back the
	// same minute comes twice, and a team must not be woken between the two.
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

// TimeOfDay is a minute of a day, counted from midnight.
type TimeOfDay int

var looksLikeTime = regexp.MustCompile(`^[0-9]{2}:[0-9]{2}$`)

// UnmarshalText reads hours and minutes, from 00:00 to 23:59.
func (t *TimeOfDay) UnmarshalText(text []byte) error {
	s := string(text)
	at, err := time.Parse("15:04", s)
	switch {
	case s == "24:00":
		return fmt.Errorf("%s is no time of day: write 00:00 for midnight", shown(s))
	case err != nil || !looksLikeTime.MatchString(s):
		return fmt.Errorf("%s is no time of day: write hours and minutes, such as 07:00 or 22:30", shown(s))
	}
	*t = TimeOfDay(60*at.Hour() + at.Minute())
	return nil
}

// String returns what UnmarshalText reads.
func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", t/60, t%60) }

// on returns the moment of that time on a day, which may be one before the first
// or after the last of the month.
func (t TimeOfDay) on(year int, month time.Month, day int, zone *time.Location) time.Time {
	return time.Date(year, month, day, int(t)/60, int(t)%60, 0, 0, zone)
}

// TimeZone is a zone of the IANA time zone database. The zero value is UTC.
type TimeZone struct {
	location *time.Location
}

// UnmarshalText reads the name of a zone. That of the machine is none, since the
// same file would mean something else on another.
func (z *TimeZone) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		return fmt.Errorf("is empty: leave the key out for UTC")
	}
	location, err := time.LoadLocation(s)
	// The error of time quotes what it was given.
	if err != nil || s == "Local" {
		return fmt.Errorf("%s is no time zone: write a name such as Europe/Berlin, or UTC", shown(s))
	}
	z.location = location
	return nil
}

// Location returns the zone as package time has it.
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

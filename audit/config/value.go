package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time above zero.
type Duration time.Duration

var (
	bareNumber = regexp.MustCompile(`^[0-9]{1,6}$`)
	wholeDays  = regexp.MustCompile(`^[0-9]{1,4}d$`)
)

// UnmarshalText reads a duration as time.ParseDuration does, such as 24h or
// 1h30m.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	v, err := time.ParseDuration(s)
	switch {
	case bareNumber.MatchString(s):
		return fmt.Errorf("%s has no unit: write %sh for hours, %sm for minutes", shown(s), s, s)
	case wholeDays.MatchString(s):
		days, _ := time.ParseDuration(strings.TrimSuffix(s, "d") + "h")
		return fmt.Errorf("%s is counted in days: write %dh", shown(s), 24*int(days.Hours()))
	case err != nil:
		return fmt.Errorf("%s is no duration: write hours, minutes and seconds, such as 24h or 1h30m", shown(s))
	case v <= 0:
		return fmt.Errorf("%s is not above zero", shown(s))
	}
	*d = Duration(v)
	return nil
}

// Expiry is the end of an exception. The zero value is none at all, and has
// always passed.
type Expiry struct {
	// End is the first moment at which the exception is over. For a date it is
	// midnight UTC after that day.
	End  time.Time
	date bool
}

var looksLikeDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// UnmarshalText reads a date, such as 2027-03-31, or a time of RFC 3339, such
// as 2027-03-31T18:00:00Z.
func (e *Expiry) UnmarshalText(text []byte) error {
	s := string(text)
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		*e = Expiry{End: t.AddDate(0, 0, 1), date: true}
		return nil
	}
	if looksLikeDate.MatchString(s) {
		return fmt.Errorf("%s is no day of the calendar", shown(s))
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("%s is no date: write a day such as 2027-03-31 (its end in UTC counts) or a time such as 2027-03-31T18:00:00Z", shown(s))
	}
	*e = Expiry{End: t}
	return nil
}

// Passed reports whether the expiry lies in the past, or is now.
func (e Expiry) Passed(now time.Time) bool { return !now.Before(e.End) }

// String returns the expiry as the file spells it.
func (e Expiry) String() string {
	if e.date {
		return e.End.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return e.End.Format(time.RFC3339)
}

// Equal reports whether two expiries are the same moment.
func (e Expiry) Equal(o Expiry) bool { return e.End.Equal(o.End) }

// Glob is a pattern for whole names of namespaces, as path.Match reads it: `*`
// is any text, `?` one character, `[a-f]` one of a range, `[^a-f]` one outside
// it, and a backslash takes the next character as it is. A name without any of
// them matches itself only. `*` alone matches everything.
type Glob string

// UnmarshalText refuses a pattern that is malformed or that the name of no
// namespace can match.
func (g *Glob) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		return fmt.Errorf("is empty: name a namespace, or * for all")
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%s is no glob: a bracket is open or empty, or a backslash stands last", shown(s))
	}
	// What stands in brackets may be a negation, so only patterns without them
	// are looked at letter by letter.
	if !strings.ContainsAny(s, `[\`) {
		for _, r := range s {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-*?", r) {
				return fmt.Errorf("%s matches no namespace: no name has %q in it (this is a glob: * is any text, ? one character)",
					shown(s), r)
			}
		}
	}
	*g = Glob(s)
	return nil
}

// Match reports whether a name matches the whole pattern. A malformed pattern
// matches nothing.
func (g Glob) Match(name string) bool {
	if g == "*" {
		return true // path.Match stops at a slash
	}
	ok, err := path.Match(string(g), name)
	return ok && err == nil
}

// firstMatch returns the first pattern that matches a name.
func firstMatch(globs []Glob, name string) (Glob, bool) {
	for _, g := range globs {
		if g.Match(name) {
			return g, true
		}
	}
	return "", false
}

func matchAny(globs []Glob, name string) bool {
	_, ok := firstMatch(globs, name)
	return ok
}

// URL is the base URL of a server that is spoken to without credentials in it.
type URL string

// UnmarshalText reads an http or https URL with a host. None of its errors
// shows the URL, for what is wrong with it may be a password.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("is empty: leave the key out where there is none")
	}
	// The error of url.Parse quotes what it was given.
	parsed, err := url.Parse(string(text))
	switch {
	case err != nil:
		return errors.New("is no URL, such as http://pushgateway.monitoring:9091")
	case parsed.User != nil:
		return errors.New("holds a user or password: take them out, they would be seen in logs")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("does not begin with http:// or https://")
	case parsed.Hostname() == "":
		return errors.New("has no host")
	case parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "":
		return errors.New("has a query or fragment: only scheme, host, port and path may stand here")
	}
	if port := parsed.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return errors.New("has a port that is not between 1 and 65535")
		}
	}
	*u = URL(text)
	return nil
}

// Hold is how long a new violation is pending before it is opened. The zero
// value opens it at once.
type Hold struct {
	// Sweeps must see it one after the other; For must pass since the first
	// one. One of the two is zero.
	Sweeps int
	For    time.Duration
}

var looksLikeSweeps = regexp.MustCompile(`^([0-9]{1,4}) sweeps?$`)

// UnmarshalText reads a number of sweeps, such as "2 sweeps", or a duration.
func (h *Hold) UnmarshalText(text []byte) error {
	s := string(text)
	if m := looksLikeSweeps.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1])
		*h = Hold{Sweeps: n}
		return nil
	}
	var d Duration
	if err := d.UnmarshalText(text); err != nil {
		return fmt.Errorf("%s is neither a number of sweeps, such as 2 sweeps, nor a duration, such as 30m", shown(s))
	}
	*h = Hold{For: time.Duration(d)}
	return nil
}

// Count is a whole number above zero.
type Count int

// UnmarshalText reads decimal digits.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("%s is no whole number above zero", shown(string(text)))
	}
	*c = Count(n)
	return nil
}

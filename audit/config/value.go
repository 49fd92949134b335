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

// Duration is a duration greater than zero.
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
		return fmt.Errorf("%s has no unit: use %sh for hours, %sm for minutes", shown(s), s, s)
	case wholeDays.MatchString(s):
		days, _ := time.ParseDuration(strings.TrimSuffix(s, "d") + "h")
		return fmt.Errorf("%s is in days: use %dh", shown(s), 24*int(days.Hours()))
	case err != nil:
		return fmt.Errorf("%s is not a valid duration: use hours, minutes and seconds, such as 24h or 1h30m", shown(s))
	case v <= 0:
		return fmt.Errorf("%s is not greater than zero", shown(s))
	}
	*d = Duration(v)
	return nil
}

// Expiry is the expiry of an exception. The zero value is not set, and has always
// passed.
type Expiry struct {
	// End is the first moment at which the exception has expired. For a date it is
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
		return fmt.Errorf("%s is not a calendar date", shown(s))
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("%s is not a valid date: use a day such as 2027-03-31 (valid until its end in UTC) or a time such as 2027-03-31T18:00:00Z", shown(s))
	}
	*e = Expiry{End: t}
	return nil
}

// Passed reports whether the expiry is in the past, or is now.
func (e Expiry) Passed(now time.Time) bool { return !now.Before(e.End) }

// String returns the expiry as in the file.
func (e Expiry) String() string {
	if e.date {
		return e.End.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return e.End.Format(time.RFC3339)
}

// Equal reports whether two expiries are the same moment.
func (e Expiry) Equal(o Expiry) bool { return e.End.Equal(o.End) }

// Glob is a pattern for whole names of namespaces, in the syntax of path.Match: `*`
// matches any text, `?` one character, `[a-f]` one of a range, `[^a-f]` one outside
// it, and a backslash escapes the next character. `*` alone matches everything.
type Glob string

// UnmarshalText rejects a pattern that is malformed or that no namespace can match.
func (g *Glob) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		return fmt.Errorf("must not be empty: use a namespace, or * for all")
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%s is not a valid glob: it has an unclosed or empty bracket, or a trailing backslash", shown(s))
	}
	// Brackets may contain a negation, so only patterns without them are checked
	// character by character.
	if !strings.ContainsAny(s, `[\`) {
		for _, r := range s {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-*?", r) {
				return fmt.Errorf("%s matches no namespace: names cannot contain %q (in a glob, * matches any text and ? one character)",
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
		return true // path.Match does not match a slash
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

func anyMatch(globs []Glob, name string) bool {
	_, ok := firstMatch(globs, name)
	return ok
}

// URL is the base URL of a server, without credentials in it.
type URL string

// UnmarshalText reads an http or https URL with a host. None of its errors contains
// the URL, because the invalid part may be a password.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("must not be empty: omit the key instead")
	}
	// The error of url.Parse quotes its input.
	parsed, err := url.Parse(string(text))
	switch {
	case err != nil:
		return errors.New("not a valid URL, such as http://pushgateway.monitoring:9091")
	case parsed.User != nil:
		return errors.New("contains a user or password: remove them, they would appear in logs")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case parsed.Hostname() == "":
		return errors.New("has no host")
	case parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "":
		return errors.New("has a query or fragment: only scheme, host, port and path are allowed")
	}
	if port := parsed.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return errors.New("the port must be between 1 and 65535")
		}
	}
	*u = URL(text)
	return nil
}

// Hold is how long a new violation is pending before it is opened. The zero
// value opens it at once.
type Hold struct {
	// Sweeps is how many sweeps in a row must find it; For is how long it must have
	// existed. At most one of them is set.
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
		return fmt.Errorf("%s is not a valid duration, such as 30m, or number of sweeps, such as 2 sweeps", shown(s))
	}
	*h = Hold{For: time.Duration(d)}
	return nil
}

// Count is a positive integer.
type Count int

// UnmarshalText reads decimal digits.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("%s is not a positive integer", shown(string(text)))
	}
	*c = Count(n)
	return nil
}

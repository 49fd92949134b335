package config

import (
	"fmt"
	"regexp"
	"time"
)

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

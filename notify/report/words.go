package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules"
)

// number returns a number as digits.
func number(n int) shown { return shown(strconv.Itoa(n)) }

// count returns a number and its noun, "1 policy" or "2 policies".
func count(n int, noun string) shown {
	if n != 1 {
		noun = plural(noun)
	}
	return number(n) + " " + show(noun)
}

// plural returns the plural of a noun that takes a regular one.
func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}

// join lists names in the order given.
func join(names []string) shown {
	var out shown
	for i, name := range names {
		if i > 0 {
			out += ", "
		}
		out += show(name)
	}
	return out
}

// date returns a time to the second, since objects of the same second may have
// raced.
func date(t time.Time) shown {
	if t.IsZero() {
		return ""
	}
	return show(t.UTC().Format(time.DateTime))
}

// age returns how long ago the time was when the sweep began, "" where that is
// not known.
func (p *page) age(t time.Time) shown {
	switch {
	case t.IsZero() || p.now.IsZero():
		return ""
	case t.After(p.now.Add(time.Minute)):
		return "future"
	case t.After(p.now):
		// It came while the sweep ran, or the clocks differ a little.
		return "0s"
	}
	return show(rules.Age(p.now.Sub(t)))
}

// lasted returns a duration as people say it, "" if it cannot be one.
func lasted(d time.Duration) shown {
	switch {
	case d < 0:
		return ""
	case d < 50*time.Millisecond:
		return "under 0.1s"
	case d < time.Minute:
		return shown(strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s")
	}
	return shown(d.Round(time.Second).String())
}

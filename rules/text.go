package rules

import (
	"fmt"
	"strings"
	"time"
)

// Plural returns the plural of a regular noun.
func Plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}

// Count returns a number with its noun: "1 policy", "2 policies".
func Count(n int, noun string) string {
	if n != 1 {
		noun = Plural(noun)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// CountVerb returns a number of nouns with a verb that agrees with it: "1 policy
// selects", "2 policies select".
func CountVerb(n int, noun, verb string) string {
	if n == 1 {
		verb += "s"
	}
	return Count(n, noun) + " " + verb
}

// Age returns a duration the way kubectl prints ages: days from two days on, hours
// from two hours on, minutes from two minutes on, else seconds.
func Age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	}
	return fmt.Sprintf("%ds", int(d/time.Second))
}

// Timestamp returns a time as messages spell it: in UTC, to the second.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// Span returns the first and the last known creation time, zero if none is known.
func Span(objects []Object) (oldest, newest time.Time) {
	for _, o := range objects {
		if o.Created.IsZero() {
			continue
		}
		if oldest.IsZero() || o.Created.Before(oldest) {
			oldest = o.Created
		}
		if o.Created.After(newest) {
			newest = o.Created
		}
	}
	return oldest, newest
}

// Arrivals says when workloads, described by an adjective, were created. It is
// empty if there are none.
func Arrivals(adjective string, workloads []Object) string {
	oldest, newest := Span(workloads)
	switch {
	case len(workloads) == 0:
		return ""
	case oldest.IsZero():
		return fmt.Sprintf("The creation times of the %s workloads are unknown.", adjective)
	case len(workloads) > 1 && oldest.Equal(newest):
		return fmt.Sprintf("The %s workloads were created at %s.", adjective, Timestamp(oldest))
	case len(workloads) == 1:
		return fmt.Sprintf("The %s workload was created at %s.", adjective, Timestamp(oldest))
	}
	return fmt.Sprintf("The oldest %s workload was created at %s, the newest at %s.", adjective, Timestamp(oldest), Timestamp(newest))
}

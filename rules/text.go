package rules

import (
	"fmt"
	"strings"
	"time"
)

// Count returns a number of nouns: "1 policy", "2 policies".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountVerb returns a count of nouns with the verb that goes with it.
func CountVerb(n int, noun, verb string) string {
	if n == 1 {
		verb += "s"
	}
	return Count(n, noun) + " " + verb
}

// Age returns a duration as people read ages: days from two days on, hours from
// two hours on, minutes from two minutes on, else seconds.
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

// Timestamp returns a moment as messages give it: UTC, to the second.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

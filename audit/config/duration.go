package config

import (
	"fmt"
	"regexp"
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

package rules

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"},
		{999 * time.Millisecond, "0s"},
		{90 * time.Second, "90s"},
		{2*time.Minute - 1, "119s"},
		{2 * time.Minute, "2m"},
		{2*time.Hour - 1, "119m"},
		{2 * time.Hour, "2h"},
		{2*day - 1, "47h"},
		{2 * day, "2d"},
		{400 * day, "400d"},
	} {
		if got := Age(c.d); got != c.want {
			t.Errorf("Age(%s) = %q, want %q", c.d, got, c.want)
		}
	}
}

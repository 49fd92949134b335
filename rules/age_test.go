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

// Whether admission could have seen the older claimant hangs on how far apart the
// two were created, at the precision that objects carry.
func TestHostCauseTellsRaceFromLateComer(t *testing.T) {
	at := func(offset time.Duration) Object {
		return Object{Created: time.Date(2026, 3, 2, 9, 15, 0, 0, time.UTC).Add(offset)}
	}
	unknown := Object{}
	late, race, silent := hostCause([]Object{at(0), at(time.Hour)}), hostCause([]Object{at(0), at(0)}), hostCause([]Object{at(0), unknown})
	if late == race || race == silent || late == silent {
		t.Fatalf("the causes are not told apart: %q, %q, %q", late, race, silent)
	}
	same := func(a, b string) bool { return a[:min(len(a), 20)] == b[:min(len(b), 20)] }
	for _, c := range []struct {
		name    string
		objects []Object
		like    string
	}{
		{"within one second", []Object{at(0), at(time.Second)}, race},
		{"within two seconds", []Object{at(0), at(time.Second), at(2 * time.Second)}, race},
		{"unknown among the young", []Object{unknown, unknown}, silent},
	} {
		if got := hostCause(c.objects); !same(got, c.like) {
			t.Errorf("%s: %q, want the like of %q", c.name, got, c.like)
		}
	}
	if got := hostCause([]Object{at(0), at(3 * time.Second)}); same(got, race) || same(got, silent) {
		t.Errorf("three seconds apart: %q", got)
	}
}

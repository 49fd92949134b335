package main

import (
	"slices"
	"testing"
)

// TestZonesAreLinkedIn: where a test runs the system has a database of time zones,
// and in the image there is none.
func TestZonesAreLinkedIn(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.name() == "cmd/audit" && !slices.Contains(p.Deps, "time/tzdata") {
			t.Error("the command does not link time/tzdata: quiet hours have no time zones in an image from scratch")
		}
	}
}

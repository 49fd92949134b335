package snapshot

import "testing"

func TestKeysThatNameOwners(t *testing.T) {
	for key, want := range map[string]bool{
		"owner":                       true,
		"acme.io/team":                true,
		"acme.io/product-team":        true,
		"teamName":                    true,
		"capsule.clastix.io/tenant":   true,
		"owned-by":                    true,
		"env":                         false,
		"steam":                       false,
		"team.acme.io/env":            false,
		"kubernetes.io/metadata.name": false,
	} {
		if got := NamesOwners(key); got != want {
			t.Errorf("%s names owners: %t, want %t", key, got, want)
		}
	}
}

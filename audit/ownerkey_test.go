package audit

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
		if got := namesOwners(key); got != want {
			t.Errorf("%s names owners: %t, want %t", key, got, want)
		}
	}
}

func TestValuesThatAreOwners(t *testing.T) {
	for value, want := range map[string]bool{
		"checkout": true, "Team Ä": true, "a@example.com": true,
		"": false, " ": false, "true": false, "17": false, "1.2": false, "a\nb": false, `{"a":1}`: false, "a\u202eb": false,
	} {
		if got := looksLikeOwner(value); got != want {
			t.Errorf("%q can be an owner: %t, want %t", value, got, want)
		}
	}
}

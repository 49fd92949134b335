package audit

import "testing"

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

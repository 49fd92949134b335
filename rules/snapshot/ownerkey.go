package snapshot

import (
	"slices"
	"strings"
	"unicode"
)

// NamesOwners reports whether the key of a label or an annotation looks as if its values named owners: a word of its
// last part says so. A key such as env is left out however many Namespaces carry it: as an
// owner key it would merge all teams of a stage into one owner.
func NamesOwners(key string) bool {
	_, name, ok := strings.Cut(key, "/")
	if !ok {
		name = key
	}
	for _, word := range words(name) {
		if slices.Contains([]string{
			"owner", "owners", "owned", "team", "teams", "squad", "tribe", "crew", "tenant", "department", "dept",
			"maintainer", "maintainers", "responsible",
		}, word) {
			return true
		}
	}
	return false
}

// words splits a name at what is not a letter, and before each capital letter after a small
// one, and returns the parts in lower case.
func words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = nil
		}
	}
	small := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r):
			end()
		case unicode.IsUpper(r) && small:
			end()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		small = unicode.IsLower(r)
	}
	end()
	return out
}

// NamesChannel reports whether the key of an annotation looks as if its value named a
// channel of a chat.
func NamesChannel(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "slack") || strings.HasSuffix(key, "chat") || strings.HasSuffix(key, "channel")
}

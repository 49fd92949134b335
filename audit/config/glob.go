package config

import (
	"fmt"
	"path"
	"strings"
)

// Glob is a pattern for whole names of namespaces, as path.Match reads it: `*`
// is any text, `?` one character, `[a-f]` one of a range, `[^a-f]` one outside
// it, and a backslash takes the next character as it is. A name without any of
// them matches itself only. `*` alone matches everything.
type Glob string

// UnmarshalText refuses a pattern that is malformed or that the name of no
// namespace can match.
func (g *Glob) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		return fmt.Errorf("is empty: name a namespace, or * for all")
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%s is no glob: a bracket is open or empty, or a backslash stands last", shown(s))
	}
	// What stands in brackets may be a negation, so only patterns without them
	// are looked at letter by letter.
	if !strings.ContainsAny(s, `[\`) {
		for _, r := range s {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-*?", r) {
				return fmt.Errorf("%s matches no namespace: no name has %q in it (this is a glob: * is any text, ? one character)",
					shown(s), r)
			}
		}
	}
	*g = Glob(s)
	return nil
}

// Match reports whether a name matches the whole pattern. A malformed pattern
// matches nothing.
func (g Glob) Match(name string) bool {
	if g == "*" {
		return true // path.Match stops at a slash
	}
	ok, err := path.Match(string(g), name)
	return ok && err == nil
}

// firstMatch returns the first pattern that matches a name.
func firstMatch(globs []Glob, name string) (Glob, bool) {
	for _, g := range globs {
		if g.Match(name) {
			return g, true
		}
	}
	return "", false
}

func matchAny(globs []Glob, name string) bool {
	_, ok := firstMatch(globs, name)
	return ok
}

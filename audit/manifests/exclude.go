package manifests

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// excludes are patterns of files and folders that are left out of folders. A pattern
// without a slash matches a name at any depth. One with a slash matches the path below the
// folder that is read, where ** stands for any number of folders. A slash at the end
// matches folders only.
type excludes struct {
	patterns []exclude
	used     map[string]bool // by pattern as it was given
}

type exclude struct {
	given    string
	segments []string
	folders  bool // only
}

// newExcludes parses patterns. The error names the first that is malformed.
func newExcludes(patterns []string) (excludes, error) {
	out := excludes{used: map[string]bool{}}
	for _, given := range patterns {
		p := exclude{given: given, folders: strings.HasSuffix(given, "/")}
		trimmed := strings.TrimSuffix(given, "/")
		anchored := strings.Contains(trimmed, "/")
		trimmed = strings.TrimPrefix(strings.TrimPrefix(trimmed, "./"), "/")
		if trimmed == "" {
			return out, fmt.Errorf("pattern %q matches nothing", given)
		}
		p.segments = strings.Split(trimmed, "/")
		if !anchored {
			p.segments = append([]string{"**"}, p.segments...)
		}
		for _, s := range p.segments {
			if _, err := path.Match(s, ""); err != nil {
				return out, fmt.Errorf("pattern %q: %w", given, err)
			}
		}
		out.patterns = append(out.patterns, p)
	}
	return out, nil
}

// match reports whether a file or folder is left out, by its path below the folder that is
// read, with slashes.
func (e *excludes) match(name string, isFolder bool) bool {
	found := false
	for _, p := range e.patterns {
		if (isFolder || !p.folders) && matchSegments(p.segments, strings.Split(name, "/")) {
			e.used[p.given], found = true, true
		}
	}
	return found
}

// unused returns the patterns that matched nothing.
func (e *excludes) unused(patterns []string) []string {
	return slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return e.used[p] })
}

func matchSegments(pattern, name []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	if len(pattern) == 0 {
		return len(name) == 0
	}
	rest := pattern[1:]
	if len(rest) == 0 {
		return len(name) > 0 // everything below
	}
	for i := range name {
		if matchSegments(rest, name[i:]) {
			return true
		}
	}
	return false
}

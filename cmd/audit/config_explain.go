package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/eventuallytrue/audit/audit/config"
)

// explainConfig prints the keys that begin with a prefix.
func explainConfig(w io.Writer, prefix string) error {
	found := false
	for _, k := range config.Keys() {
		if !beginsWith(k.Path, prefix) {
			continue
		}
		found = true
		otherwise := ""
		if k.Default != "" {
			otherwise = ", default " + k.Default
		}
		if _, err := fmt.Fprintf(w, "%s (%s%s)\n    %s\n", k.Path, k.Type, otherwise, k.Doc); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("there is no key %q: audit config explain has all", prefix)
	}
	return nil
}

// beginsWith reports whether a path is a key, or in a section, that somebody names
// with or without the marks of lists.
func beginsWith(path, prefix string) bool {
	if prefix == "" || path == prefix {
		return true
	}
	plain, prefix := strings.ReplaceAll(path, "[]", ""), strings.ReplaceAll(prefix, "[]", "")
	return plain == prefix || strings.HasPrefix(plain, prefix+".")
}

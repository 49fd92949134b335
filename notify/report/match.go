package report

import (
	"strings"

	"github.com/eventuallytrue/audit/audit"
)

// Match returns the findings that a user means: those with that ID, else those about a
// subject of that name, else those whose ID, or its hash, begins like that. IDs that begin
// alike are ambiguous, and all are returned.
func Match(list []audit.Record, name string) []audit.Record {
	for _, means := range []func(*audit.Record) bool{
		func(r *audit.Record) bool { return r.ID == name },
		func(r *audit.Record) bool { return isSubject(r, name) },
		func(r *audit.Record) bool {
			return name != "" && (strings.HasPrefix(r.ID, name) || strings.HasPrefix(shortID(r.ID, len(r.ID)), name))
		},
	} {
		var found []audit.Record
		for i := range list {
			if means(&list[i]) {
				found = append(found, list[i])
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// isSubject reports whether a finding is about the subject of that name, with or without
// its kind ("Host shop.example.com", "host/shop.example.com"), namespace and detail.
func isSubject(r *audit.Record, name string) bool {
	s := r.Subject
	for _, sep := range []string{" ", "/"} {
		if kind := s.Kind + sep; len(name) > len(kind) && strings.EqualFold(name[:len(kind)], kind) {
			name = name[len(kind):]
			break
		}
	}
	if name == s.Name || name == s.String() {
		return true
	}
	s.Detail = ""
	return name == s.String()
}

// SameLine reports whether findings are about one subject, so that they are on one line of
// a table.
func SameLine(list []audit.Record) bool {
	for i := range list {
		if !sameSubject(&list[0], &list[i]) {
			return false
		}
	}
	return true
}

// ShortIDs returns what identifies each finding of a list to Match.
func ShortIDs(list []audit.Record) []string {
	n := shortest(list)
	return each(list, func(r audit.Record) string { return shortID(r.ID, n) })
}

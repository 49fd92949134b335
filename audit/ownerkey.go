package audit

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// OwnerKeyHint is a label or an annotation that most Namespaces carry and that looks as if
// it named their owners, while the config does not list it in owners.keys.
type OwnerKeyHint struct {
	Key        string
	Annotation bool // false: a label
	// Carry is the number of Namespaces that carry it, of Namespaces without those of
	// Kubernetes itself.
	Carry, Of int
	// Names is the number of Namespaces without an owner that it would name an owner for.
	Names int
}

// Sort returns "label" or "annotation".
func (h *OwnerKeyHint) Sort() string {
	if h.Annotation {
		return "annotation"
	}
	return "label"
}

// FindOwnerKey returns the key that would name the owners of the most Namespaces without
// one, or nil if there is no such key that most Namespaces carry. Of equals, a label comes
// before an annotation, and then the first by name.
func FindOwnerKey(snap *snapshot.Snapshot, rows []NamespaceOwner) *OwnerKeyHint {
	type candidate struct {
		key        string
		annotation bool
	}
	unowned := map[string]bool{}
	for _, row := range rows {
		unowned[row.Namespace] = row.By == ByNone || row.By == ByFallback
	}
	found := map[candidate]*OwnerKeyHint{}
	naming := map[string]bool{} // by key: most Namespaces have the same few
	of := 0
	for ns := range snap.Namespaces() {
		if systemNamespace(ns.Name) {
			continue
		}
		of++
		see := func(key, value string, annotation bool) {
			names, known := naming[key]
			if !known {
				names = snapshot.NamesOwners(key)
				naming[key] = names
			}
			if !names || !looksLikeOwner(value) {
				return
			}
			c := candidate{key, annotation}
			if found[c] == nil {
				found[c] = &OwnerKeyHint{Key: key, Annotation: annotation}
			}
			found[c].Carry++
			if unowned[ns.Name] {
				found[c].Names++
			}
		}
		for key, value := range ns.Labels.All() {
			see(key, value, false)
		}
		for key, value := range ns.Annotations.All() {
			see(key, value, true)
		}
	}
	var best *OwnerKeyHint
	for _, h := range found {
		if h.Of = of; h.Names == 0 || 2*h.Carry <= of {
			continue
		}
		if best == nil || h.compare(best) < 0 {
			best = h
		}
	}
	return best
}

func (h *OwnerKeyHint) compare(o *OwnerKeyHint) int {
	return cmp.Or(cmp.Compare(o.Names, h.Names), cmp.Compare(truth(h.Annotation), truth(o.Annotation)), strings.Compare(h.Key, o.Key))
}

// systemNamespace reports whether a namespace is one of Kubernetes itself, which no team
// of the cluster owns.
func systemNamespace(name string) bool { return strings.HasPrefix(name, "kube-") }

// looksLikeOwner reports whether a value can be the name of a team: printable text on one
// line that is not a number or a truth value, as in team-required: "true".
func looksLikeOwner(value string) bool {
	value = strings.TrimSpace(value)
	if value == "" || value == "true" || value == "false" || strings.Trim(value, "0123456789.") == "" {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(`{}[]"`, r) })
}

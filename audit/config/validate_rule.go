package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
)

func (v *validator) rules() {
	for _, name := range slices.Sorted(maps.Keys(v.c.Rules)) {
		r := v.rule(name)
		if r == nil {
			v.add("rules", name, "%s", v.unknownRule(name))
			continue
		}
		path, said := join("rules", name), v.c.Rules[name]
		for _, s := range []rules.Setting{rules.SettingDirections, rules.SettingExemptNamespaces} {
			if v.given(path, string(s)) && !slices.Contains(r.Settings, s) {
				v.add(path, string(s), "rule %s takes no %s", name, s)
			}
		}
		if said.Directions != nil && len(said.Directions) == 0 {
			v.add(path, "directions", "is empty: name Ingress, Egress or both, or switch the rule off with enabled: false")
		}
		for i, d := range said.Directions {
			at := join(path, "directions")
			if first := slices.Index(said.Directions, d); first < i && !v.d.broken[index(at, first)] {
				v.addItem(at, i, "%s is there twice", d)
			}
		}
	}
}

// rule returns the rule of that name, or nil.
func (v *validator) rule(name string) *rules.Rule {
	if i := slices.IndexFunc(v.set, func(r *rules.Rule) bool { return r.Name == name }); i >= 0 {
		return v.set[i]
	}
	return nil
}

func (v *validator) unknownRule(name string) string {
	known := make([]string, len(v.set))
	for i, r := range v.set {
		known[i] = r.Name
	}
	slices.Sort(known)
	hint := ""
	if meant := suggest(name, known); meant != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", meant)
	}
	return fmt.Sprintf("unknown rule%s; known: %s", hint, strings.Join(known, ", "))
}

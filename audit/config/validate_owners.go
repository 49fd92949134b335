package config

import (
	"maps"
	"slices"
)

func (v *validator) owners() {
	o := &v.c.Owners
	if len(o.Keys) == 0 {
		v.add("owners", "keys", "is empty: name one key at least, or leave it out for the default")
	}
	for i, key := range o.Keys {
		if err := checkLabelKey(key); err != nil {
			v.addItem("owners.keys", i, "%s", err)
		} else if slices.Index(o.Keys, key) < i {
			v.addItem("owners.keys", i, "%s is there twice", shown(key))
		}
	}
	v.plain("owners", "fallback", o.Fallback)
	first := map[string]string{}
	for i := range o.Teams {
		path := index("owners.teams", i)
		if v.d.broken[path] {
			continue
		}
		v.team(path, &o.Teams[i])
		name := o.Teams[i].Name
		if other, ok := first[name]; ok {
			v.add(path, "name", "%s is the name of %s on line %d already", shown(name), other, v.d.at[other].line)
		} else if name != "" {
			first[name] = path
		}
	}
}

func (v *validator) team(path string, t *Team) {
	v.plain(path, "name", t.Name)
	if t.Name == "" {
		v.missing(path, "name", v.given(path, "name"), "a team has a name")
	}
	labels := t.NamespaceSelector.MatchLabels
	selector := join(path, "namespaceSelector")
	if v.given(path, "namespaceSelector") && len(labels) == 0 && !v.d.unsure[selector] {
		v.add(path, "namespaceSelector", "selects nothing: name a label under matchLabels, or leave it out")
	}
	section := join(selector, "matchLabels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if err := checkLabelKey(key); err != nil {
			v.add(section, key, "%s", err)
		}
		if err := checkLabelValue(labels[key]); err != nil {
			v.add(section, key, "%s", err)
		}
	}
	v.teamSlack(join(path, "slack"), &t.Slack)
	v.quietHours(path, t.QuietHours)
}

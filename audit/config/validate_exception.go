package config

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// exception checks one exception, which stands at a path.
func (v *validator) exception(path string, e *Exception) {
	if v.d.broken[path] {
		return
	}
	if strings.TrimSpace(e.Reason) == "" {
		v.missing(path, "reason", v.given(path, "reason"), "say why the violation may stay")
	}
	if e.Expires.End.IsZero() {
		v.missing(path, "expires", v.given(path, "expires"), "an exception has an end, such as 2027-03-31")
	}
	subject := join(path, "subject")
	if e.Subject == (Subject{}) && !v.d.unsure[subject] {
		v.missing(path, "subject", v.given(path, "subject"), "name what is excepted")
		subject = ""
	}
	r := v.rule(e.Rule)
	switch {
	case e.Rule == "":
		v.missing(path, "rule", v.given(path, "rule"), "name the rule that the exception is from")
	case r == nil:
		v.add(path, "rule", "%s: %s", shown(e.Rule), v.unknownRule(e.Rule))
	case subject != "":
		v.subject(subject, e.Subject, r)
	}
}

// subject checks the subject of an exception, which stands at a path, against
// what a rule has for subjects.
func (v *validator) subject(path string, s Subject, r *rules.Rule) {
	// Without text a field says nothing, so the exception would be for more
	// than whoever wrote the field had in mind.
	for key, value := range map[string]string{"kind": s.Kind, "name": s.Name, "detail": s.Detail} {
		if v.given(path, key) && value == "" {
			v.add(path, key, "is empty: leave the key out where it says nothing")
		}
	}
	if s.Kind != "" && s.Kind != r.Subject {
		v.add(path, "kind", "%s: the subjects of rule %s are of kind %s", shown(s.Kind), r.Name, r.Subject)
	}
	if r.Subject == rules.SubjectNamespace {
		v.namespaceSubject(path, s, r)
	} else {
		v.namedSubject(path, s, r)
	}
}

// namedSubject checks a subject that has a kind and a name and no more.
func (v *validator) namedSubject(path string, s Subject, r *rules.Rule) {
	foreign := false
	for _, key := range []string{"namespace", "detail"} {
		if v.given(path, key) {
			foreign = true
			v.add(path, key, "rule %s judges a %s, which has no %s", r.Name, r.Subject, key)
		}
	}
	if s.Name == "" && !v.given(path, "name") && !foreign && !v.d.unsure[path] {
		v.missing(path, "name", false, "name the "+strings.ToLower(r.Subject))
	}
}

// namespaceSubject checks a subject that is a Namespace.
func (v *validator) namespaceSubject(path string, s Subject, r *rules.Rule) {
	namespace, name := v.given(path, "namespace"), v.given(path, "name")
	switch {
	case namespace && name:
		v.add(path, "name", "names the namespace a second time: give namespace (a glob) or name (exact)")
	case strings.ContainsAny(s.Name, `*?[\`):
		v.add(path, "name", "%s is taken as it is: a glob goes under namespace", shown(s.Name))
	case !namespace && !name && !v.d.unsure[path]:
		v.missing(path, "namespace", false, `give namespace (a glob, "*" for all) or name (exact)`)
	}
	if s.Detail == "" || !slices.Contains(r.Settings, rules.SettingDirections) {
		return
	}
	var d Direction
	if d.UnmarshalText([]byte(s.Detail)) != nil {
		v.add(path, "detail", "%s: the detail of a subject of rule %s is %s or %s",
			shown(s.Detail), r.Name, snapshot.DirectionIngress, snapshot.DirectionEgress)
	}
}

package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
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
				v.add(path, string(s), "rule %s has no setting %s", name, s)
			}
		}
		if said.Directions != nil && len(said.Directions) == 0 {
			v.add(path, "directions", "must not be empty: use Ingress, Egress or both, or disable the rule with enabled: false")
		}
		for i, d := range said.Directions {
			at := join(path, "directions")
			if first := slices.Index(said.Directions, d); first < i && !v.d.broken[index(at, first)] {
				v.addItem(at, i, "%s is listed twice", d)
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
	if meant := Suggest(name, known); meant != "" {
		hint = fmt.Sprintf(", did you mean %s?", meant)
	}
	return fmt.Sprintf("unknown rule%s (rules: %s)", hint, strings.Join(known, ", "))
}

// exception checks the exception at a path.
func (v *validator) exception(path string, e *Exception) {
	if v.d.broken[path] {
		return
	}
	if strings.TrimSpace(e.Reason) == "" {
		v.missing(path, "reason", v.given(path, "reason"), "explain why the violation is accepted")
	}
	if e.Expires.End.IsZero() {
		v.missing(path, "expires", v.given(path, "expires"), "an exception needs an expiry, such as 2027-03-31")
	}
	subject := join(path, "subject")
	if e.Subject == (Subject{}) && !v.d.unsure[subject] {
		v.missing(path, "subject", v.given(path, "subject"), "select what to except")
		subject = ""
	}
	r := v.rule(e.Rule)
	switch {
	case e.Rule == "":
		v.missing(path, "rule", v.given(path, "rule"), "set the rule that the exception applies to")
	case r == nil:
		v.add(path, "rule", "%s: %s", shown(e.Rule), v.unknownRule(e.Rule))
	case subject != "":
		v.subject(subject, e.Subject, r)
	}
}

// subject checks the subject of an exception, which is at a path, against the
// subjects of a rule.
func (v *validator) subject(path string, s Subject, r *rules.Rule) {
	// An empty field matches anything, so the exception would apply to more than
	// intended.
	for key, value := range map[string]string{"kind": s.Kind, "name": s.Name, "detail": s.Detail} {
		if v.given(path, key) && value == "" {
			v.add(path, key, "must not be empty: omit the key instead")
		}
	}
	if s.Kind != "" && s.Kind != r.Subject && r.Subject != rules.SubjectObject {
		v.add(path, "kind", "%s: subjects of rule %s have kind %s", shown(s.Kind), r.Name, r.Subject)
	}
	switch r.Subject {
	case rules.SubjectNamespace:
		v.namespaceSubject(path, s, r)
	case rules.SubjectObject:
		v.objectSubject(path, s)
	default:
		v.namedSubject(path, s, r)
	}
}

// objectSubject checks a subject that is any object.
func (v *validator) objectSubject(path string, s Subject) {
	if s.Name == "" && s.Namespace == "" && !v.given(path, "name") && !v.given(path, "namespace") && !v.d.unsure[path] {
		v.missing(path, "namespace", false, "set the namespace of the object (a glob), its name (exact), or both")
	}
}

// namedSubject checks a subject that has only a kind and a name.
func (v *validator) namedSubject(path string, s Subject, r *rules.Rule) {
	foreign := false
	for _, key := range []string{"namespace", "detail"} {
		if v.given(path, key) {
			foreign = true
			v.add(path, key, "rule %s evaluates a %s, which has no %s", r.Name, r.Subject, key)
		}
	}
	if s.Name == "" && !v.given(path, "name") && !foreign && !v.d.unsure[path] {
		v.missing(path, "name", false, "set the "+strings.ToLower(r.Subject))
	}
}

// namespaceSubject checks a subject that is a Namespace.
func (v *validator) namespaceSubject(path string, s Subject, r *rules.Rule) {
	namespace, name := v.given(path, "namespace"), v.given(path, "name")
	switch {
	case namespace && name:
		v.add(path, "name", "conflicts with namespace: use namespace (a glob) or name (exact)")
	case strings.ContainsAny(s.Name, `*?[\`):
		v.add(path, "name", "%s is taken literally: use namespace for a glob", shown(s.Name))
	case !namespace && !name && !v.d.unsure[path]:
		v.missing(path, "namespace", false, `use namespace (a glob, "*" for all) or name (exact)`)
	}
	if s.Detail == "" || !slices.Contains(r.Settings, rules.SettingDirections) {
		return
	}
	var d Direction
	if d.UnmarshalText([]byte(s.Detail)) != nil {
		v.add(path, "detail", "%s: want %[3]s or %[4]s for rule %[2]s",
			shown(s.Detail), r.Name, snapshot.DirectionIngress, snapshot.DirectionEgress)
	}
}

var (
	apiVersion = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	kindName   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

func (v *validator) externalDNSPrefixes() {
	prefixes := v.c.Hosts.ExternalDNSPrefixes
	if len(prefixes) == 0 && !v.d.unsure["hosts.externalDNSPrefixes"] {
		v.add("hosts", "externalDNSPrefixes", "must not be empty: use at least one prefix, or omit it for the default")
	}
	for i, p := range prefixes {
		if p != "" && slices.Index(prefixes, p) < i {
			v.addItem("hosts.externalDNSPrefixes", i, "%s is listed twice", shown(string(p)))
		}
	}
}

func (v *validator) hostSources() {
	if len(v.c.HostSources) == 0 {
		return
	}
	ready := slices.Concat(hostsource.BuiltIn(), hostsource.Unread(), hostsource.ExternalDNS(hostsource.ExternalDNSPrefixes()))
	first := map[snapshot.Kind]string{}
	for i := range v.c.HostSources {
		path := index("hostSources", i)
		if v.d.broken[path] {
			continue
		}
		h := &v.c.HostSources[i]
		v.hostSource(path, h, ready)
		if h.Resource == "" {
			continue
		}
		if other, ok := first[h.resourceKind()]; ok {
			v.add(path, "resource", "%s is already the kind of %s on line %d", h.resourceKind(), other, v.d.at[other].line)
		} else {
			first[h.resourceKind()] = path
		}
	}
}

// hostSource checks the host source at a path.
func (v *validator) hostSource(path string, h *HostSource, ready []hostsource.Source) {
	known := slices.ContainsFunc(ready, func(s hostsource.Source) bool { return s.Kind == h.resourceKind() })
	v.hostKind(path, h, known && !v.given(path, "hosts"))
	if known || v.d.unsure[path] {
		return
	}
	if h.off() && h.Version+h.Kind+h.Hosts.String() == "" {
		v.add(path, "enabled", "has no effect: there is no built-in source for %s%s", shown(string(h.resourceKind())), suggestSource(h.resourceKind(), ready))
		return
	}
	for _, m := range []struct{ key, value, why string }{
		{"version", h.Version, "set the API version, such as v1"},
		{"kind", h.Kind, "set the kind as in its objects, such as Route"},
		{"hosts", h.Hosts.String(), "set a CEL expression that returns the hosts of an object"},
	} {
		if m.value == "" {
			v.missing(path, m.key, v.given(path, m.key), m.why)
		}
	}
}

// hostKind checks the kind of a host source. A built-in source may be for a kind that
// a rule reads itself: the two are read together.
func (v *validator) hostKind(path string, h *HostSource, builtIn bool) {
	switch {
	case !v.given(path, "group"):
		v.missing(path, "group", false, `set the API group, or "" for the core group`)
	case h.Group != "" && len(validation.IsDNS1123Subdomain(h.Group)) > 0:
		v.add(path, "group", "%s is not a valid API group: use a lower-case domain, such as route.openshift.io", shown(h.Group))
	}
	switch {
	case h.Resource == "":
		v.missing(path, "resource", v.given(path, "resource"), "set the lower-case plural, such as routes")
	case len(validation.IsDNS1035Label(h.Resource)) > 0:
		v.add(path, "resource", "%s is not a valid resource: use the lower-case plural, as listed by kubectl api-resources", shown(h.Resource))
	case h.resourceKind() == "secrets":
		v.add(path, "resource", "secrets are never read")
	default:
		if r := v.ruleThatReads(h.resourceKind()); r != nil && v.given(path, "group") && !builtIn {
			v.add(path, "resource", "rule %s already reads %s", r.Name, h.resourceKind())
		}
	}
	if h.Version != "" && !apiVersion.MatchString(h.Version) {
		v.add(path, "version", "%s is not a valid version: use v1, v1beta1 or similar, without the group", shown(h.Version))
	}
	if h.Kind != "" && (len(h.Kind) > 63 || !kindName.MatchString(h.Kind)) {
		v.add(path, "kind", "%s is not a valid kind: use one word that begins with a capital letter, such as Route", shown(h.Kind))
	}
}

// ruleThatReads returns a rule that reads a kind itself, or nil.
func (v *validator) ruleThatReads(kind snapshot.Kind) *rules.Rule {
	for _, r := range v.set {
		if slices.Contains(r.Needs, kind) || slices.Contains(r.Uses, kind) {
			return r
		}
	}
	return nil
}

// suggestSource names the built-in source that was probably meant.
func suggestSource(kind snapshot.Kind, ready []hostsource.Source) string {
	known := make([]string, len(ready))
	for i := range ready {
		known[i] = string(ready[i].Kind)
	}
	slices.Sort(known)
	if meant := Suggest(string(kind), known); meant != "" {
		return fmt.Sprintf(", did you mean %s?", meant)
	}
	return ", want one of: " + strings.Join(known, ", ")
}

// checkLabelKey returns why Kubernetes rejects a key of labels or annotations.
func checkLabelKey(key string) error {
	if key == "" {
		return errors.New("must not be empty: use the key of a label or annotation")
	}
	if faults := validation.IsQualifiedName(key); len(faults) > 0 {
		return fmt.Errorf("%s is not a valid label key: %s", shown(key), withoutRegex(faults[0]))
	}
	return nil
}

// checkLabelValue returns why Kubernetes rejects the value of a label.
func checkLabelValue(value string) error {
	if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
		return fmt.Errorf("%s is not a valid label value: %s", shown(value), withoutRegex(faults[0]))
	}
	return nil
}

// withoutRegex cuts the examples and the regular expression from a message of
// apimachinery.
func withoutRegex(message string) string {
	message, _, _ = strings.Cut(message, " (e.g.")
	return message
}

package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var (
	apiVersion   = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	resourceName = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	kindName     = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

func (v *validator) hostSources() {
	if len(v.c.HostSources) == 0 {
		return
	}
	ready := hostsource.BuiltIn()
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
			v.add(path, "resource", "%s is the kind of %s on line %d already", h.resourceKind(), other, v.d.at[other].line)
		} else {
			first[h.resourceKind()] = path
		}
	}
}

// hostSource checks one source of hosts, which stands at a path.
func (v *validator) hostSource(path string, h *HostSource, ready []hostsource.Source) {
	v.hostKind(path, h)
	known := slices.ContainsFunc(ready, func(s hostsource.Source) bool { return s.Kind == h.resourceKind() })
	if known || v.d.unsure[path] {
		return
	}
	if h.off() && h.Version+h.Kind+h.Hosts.String() == "" {
		v.add(path, "enabled", "switches nothing off: no source is ready-made for %s%s", shown(string(h.resourceKind())), nearest(h.resourceKind(), ready))
		return
	}
	for _, m := range []struct{ key, value, why string }{
		{"version", h.Version, "name the version of the API, such as v1"},
		{"kind", h.Kind, "name the kind as its objects spell it, such as Route"},
		{"hosts", h.Hosts.String(), "write an expression in CEL that yields the hosts of an object"},
	} {
		if m.value == "" {
			v.missing(path, m.key, v.given(path, m.key), m.why)
		}
	}
}

// hostKind checks which kind a source is for.
func (v *validator) hostKind(path string, h *HostSource) {
	switch {
	case !v.given(path, "group"):
		v.missing(path, "group", false, `name the API group, or "" for the core group`)
	case h.Group != "" && (len(h.Group) > 253 || !labelPrefix.MatchString(h.Group)):
		v.add(path, "group", "%s is no API group: it is a domain in lower case, such as route.openshift.io", shown(h.Group))
	}
	switch {
	case h.Resource == "":
		v.missing(path, "resource", v.given(path, "resource"), "name the plural in lower case, such as routes")
	case len(h.Resource) > 63 || !resourceName.MatchString(h.Resource):
		v.add(path, "resource", "%s is no resource: it is the plural in lower case, as kubectl api-resources has it", shown(h.Resource))
	case h.resourceKind() == "secrets":
		v.add(path, "resource", "Secrets are never read")
	default:
		if r := v.reader(h.resourceKind()); r != nil && v.given(path, "group") {
			v.add(path, "resource", "rule %s reads %s already, in its own way", r.Name, h.resourceKind())
		}
	}
	if h.Version != "" && !apiVersion.MatchString(h.Version) {
		v.add(path, "version", "%s is no version: write v1, v1beta1 and the like, without the group", shown(h.Version))
	}
	if h.Kind != "" && (len(h.Kind) > 63 || !kindName.MatchString(h.Kind)) {
		v.add(path, "kind", "%s is no kind: it is one word that begins with a capital, such as Route", shown(h.Kind))
	}
}

// reader returns a rule that reads a kind by itself, or nil.
func (v *validator) reader(kind snapshot.Kind) *rules.Rule {
	for _, r := range v.set {
		if slices.Contains(r.Needs, kind) || slices.Contains(r.Uses, kind) {
			return r
		}
	}
	return nil
}

// nearest names the ready-made source that somebody most likely meant.
func nearest(kind snapshot.Kind, ready []hostsource.Source) string {
	known := make([]string, len(ready))
	for i := range ready {
		known[i] = string(ready[i].Kind)
	}
	if meant := suggest(string(kind), known); meant != "" {
		return fmt.Sprintf(" (did you mean %s?)", meant)
	}
	return "; there are " + strings.Join(known, ", ")
}

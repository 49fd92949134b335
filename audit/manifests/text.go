package manifests

import (
	"errors"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errTemplate is the problem of a document that a template engine has yet to render.
var errTemplate = errors.New("it looks like a template: render it first, for example with helm template")

// actions are the parts of a template of Go, Helm or Jinja. GitHub's expressions, with a
// dollar before the braces, are ordinary text.
var actions = regexp.MustCompile(`(^|[^$])\{\{[^}]*\}\}|\{%.*%\}`)

// template reports whether a text looks like a template.
func template(text []byte) bool { return actions.Match(text) }

// placeholder reports whether a name was left for a template engine, or envsubst, to fill
// in: no API server accepts any of the characters.
func placeholder(name string) bool {
	return strings.Contains(name, "{{") || strings.Contains(name, "${") || strings.Contains(name, "{%") || strings.Contains(name, "<%")
}

var (
	kindLine       = regexp.MustCompile(`(?m)(?:^kind|"kind")\s*:\s*["']?([A-Za-z0-9]+)`)
	apiVersionLine = regexp.MustCompile(`(?m)(?:^apiVersion|"apiVersion")\s*:\s*["']?([A-Za-z0-9./-]+)`)
	typeMention    = [2]*regexp.Regexp{
		regexp.MustCompile(`\bapiVersion["']?\s*:`),
		regexp.MustCompile(`\bkind["']?\s*:`),
	}
)

// mentionsType reports whether a text that does not parse may be an object or have one.
func mentionsType(text []byte) bool { return typeMention[0].Match(text) && typeMention[1].Match(text) }

// typeOf returns the type of an object that does not parse, as far as can be seen. In a
// template the API version may be an action; then the group is unknown.
func typeOf(text []byte) (group string, groupKnown bool, kind string) {
	if m := kindLine.FindSubmatch(text); m != nil {
		kind = string(m[1])
	}
	if m := apiVersionLine.FindSubmatch(text); m != nil {
		gv, err := schema.ParseGroupVersion(string(m[1]))
		return gv.Group, err == nil, kind
	}
	return "", false, kind
}

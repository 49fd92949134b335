package config

import (
	"strings"
	"unicode"

	"github.com/eventuallytrue/audit/rules"
)

// validator checks what a single value cannot tell about itself: what must be
// there, what must not be there twice, and what must fit a rule.
type validator struct {
	c   *Config
	set []*rules.Rule
	d   *decoder
}

// validate adds what is wrong in meaning to what the decoder found wrong in
// form. It works on what could be decoded and is silent on the rest.
func validate(c *Config, set []*rules.Rule, d *decoder) {
	v := validator{c, set, d}
	v.plain("", "cluster", c.Cluster)
	// It is a part of a path at the Pushgateway, where these lead elsewhere.
	if c.Cluster == "." || c.Cluster == ".." {
		v.add("", "cluster", "%s is no name of a cluster", shown(c.Cluster))
	}
	v.owners()
	v.rules()
	for i := range c.Exceptions {
		v.exception(index("exceptions", i), &c.Exceptions[i])
	}
	v.hostSources()
	v.slack()
	v.webhook()
	v.pushgateway()
}

// add records a mistake with a key of a section, in the line of the key or, if
// it is not there, of the section. A key whose value was refused already is
// not spoken of again.
func (v *validator) add(section, key, format string, args ...any) {
	path := join(section, key)
	if v.d.broken[path] {
		return
	}
	at, ok := v.d.at[path]
	if !ok {
		at = v.d.at[section]
	}
	v.d.found.add(at, path, format, args...)
}

// addItem is add for an item of the list at a path.
func (v *validator) addItem(path string, i int, format string, args ...any) {
	if at := index(path, i); !v.d.broken[at] {
		v.d.found.add(v.d.at[at], at, format, args...)
	}
}

// given reports whether a key stands in the file.
func (v *validator) given(section, key string) bool {
	_, ok := v.d.at[join(section, key)]
	return ok
}

// plain refuses a name that is shown or compared and would not come out of
// that as it is written.
func (v *validator) plain(section, key, name string) {
	switch {
	case strings.TrimSpace(name) != name:
		v.add(section, key, "%s begins or ends with a space", shown(name))
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		v.add(section, key, "%s has characters that cannot be printed", shown(name))
	}
}

// missing says that a key is not there, or is there without anything in it.
func (v *validator) missing(section, key string, given bool, why string) {
	word := "missing"
	if given {
		word = "is empty"
	}
	v.add(section, key, "%s: %s", word, why)
}

// file checks the path of a file that holds a secret, which people like to write
// in place of the path. The word says what the secret is.
func (v *validator) file(section, key, path, secret string) {
	switch {
	case v.given(section, key) && strings.TrimSpace(path) == "":
		v.add(section, key, "is empty: leave the key out where there is none")
	case strings.ContainsAny(path, "\n\r"):
		v.add(section, key, "is no path: write the %[1]s to a file and name the file here", secret)
	case holdsSecret(path):
		v.add(section, key, "looks like a %[1]s: write the %[1]s to a file and name the file here", secret)
	}
}

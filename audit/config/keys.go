package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Key is what people read of a key of the config.
type Key struct {
	// Path is where it stands: behind [] in each item of a list, and with NAME in
	// place of the name of a rule.
	Path    string
	Type    string // what its value is
	Default string // as a file would spell it; empty where there is none
	Doc     string // what it means, in a line
}

// Keys returns every key that a config may have, in the order in which errors
// name them. Sections are no keys of their own.
func Keys() []Key {
	docs, defaults := keyDocs(), Default()
	var keys []Key
	walk("", reflect.ValueOf(defaults), func(path string, value reflect.Value) {
		key := Key{Path: path, Type: typeName(value.Type()), Default: defaultOf(value)}
		if doc, ok := docs[path]; ok {
			key.Doc = doc.means
			if key.Default == "" {
				key.Default = doc.otherwise
			}
		}
		keys = append(keys, key)
	})
	return keys
}

// walk calls each for every value below a section that is no section itself, with
// its path.
func walk(path string, section reflect.Value, each func(path string, value reflect.Value)) {
	for i := range section.NumField() {
		key := section.Type().Field(i).Tag.Get("yaml")
		if key == "-" {
			continue
		}
		at, value := join(path, key), section.Field(i)
		switch t := value.Type(); {
		case isSection(t):
			walk(at, value, each)
		case t.Kind() == reflect.Slice && isSection(t.Elem()):
			walk(at+"[]", reflect.Zero(t.Elem()), each)
		case t.Kind() == reflect.Map && isSection(t.Elem()):
			walk(at+".NAME", reflect.Zero(t.Elem()), each)
		default:
			each(at, value)
		}
	}
}

// isSection reports whether the decoder takes a type for a mapping of known keys.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// typeName says what a value of a type is, and nothing of a type that is new.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return typeName(t.Elem())
	}
	return map[reflect.Type]string{
		reflect.TypeFor[string]():            "text",
		reflect.TypeFor[[]string]():          "list of keys",
		reflect.TypeFor[[]Glob]():            "list of globs",
		reflect.TypeFor[[]ChannelGlob]():     "list of globs",
		reflect.TypeFor[[]Direction]():       "list of Ingress, Egress",
		reflect.TypeFor[bool]():              "true or false",
		reflect.TypeFor[map[string]string](): "mapping",
		reflect.TypeFor[Channel]():           "channel ID",
		reflect.TypeFor[Count]():             "whole number",
		reflect.TypeFor[Duration]():          "duration",
		reflect.TypeFor[Expiry]():            "date or time",
		reflect.TypeFor[Glob]():              "glob",
		reflect.TypeFor[Hold]():              "duration, or N sweeps",
		reflect.TypeFor[HostExpression]():    "CEL",
		reflect.TypeFor[Mention]():           "mention",
		reflect.TypeFor[Severity]():          "low, medium or high",
		reflect.TypeFor[TimeOfDay]():         "time of day",
		reflect.TypeFor[TimeZone]():          "time zone",
		reflect.TypeFor[URL]():               "URL",
		reflect.TypeFor[Wildcard]():          "one or many",
	}[t]
}

// defaultOf spells a value of the default config, empty where that leaves it out.
func defaultOf(value reflect.Value) string {
	if value.IsZero() {
		return ""
	}
	switch v := value.Interface().(type) {
	case Duration:
		return spelled(time.Duration(v))
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}

// spelled writes a length of time without units that are zero: 24h, not 24h0m0s.
func spelled(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

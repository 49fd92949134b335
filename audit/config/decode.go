package config

import (
	"encoding"
	"reflect"
	"strings"
)

// decoder fills Go values from nodes. It goes on after a mistake, so that one
// run finds them all. A struct takes the keys of its yaml tags and no others; a
// value that can be wrong by itself has a type that reads its own text.
type decoder struct {
	found  *problems
	at     map[string]place // of every path in the file
	broken map[string]bool  // paths whose value was refused
	unsure map[string]bool  // paths with something refused at or below them
}

func newDecoder(found *problems) *decoder {
	return &decoder{found: found, at: map[string]place{}, broken: map[string]bool{}, unsure: map[string]bool{}}
}

// refuse records that the value at a path is not to be used.
func (d *decoder) refuse(n *node, path, format string, args ...any) {
	d.broken[path] = true
	d.found.add(n.at, path, format, args...)
}

// value fills out, which must be addressable, from the node at a path.
func (d *decoder) value(n *node, path string, out reflect.Value) {
	before := len(d.found.list)
	defer func() {
		if len(d.found.list) > before {
			d.unsure[path] = true
		}
	}()
	if n.refused != "" {
		d.refuse(n, path, "%s", n.refused)
		return
	}
	if text, ok := out.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(n, path, text)
		return
	}
	switch out.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		d.value(n, path, out.Elem())
	case reflect.Struct:
		d.fields(n, path, out)
	case reflect.Map:
		d.table(n, path, out)
	case reflect.Slice:
		d.sequence(n, path, out)
	case reflect.String:
		if d.isScalar(n, path, "!!str", "a string") {
			out.SetString(n.text)
		}
	case reflect.Bool:
		if d.isScalar(n, path, "!!bool", "true or false") {
			out.SetBool(strings.EqualFold(n.text, "true"))
		}
	default:
		d.refuse(n, path, "cannot be set: nothing reads a %s", out.Type())
	}
}

// text lets a type read its own text, whatever YAML takes it for: to YAML a
// date and a number are no strings.
func (d *decoder) text(n *node, path string, out encoding.TextUnmarshaler) {
	if !d.isScalar(n, path, "", "a single value") {
		return
	}
	if err := out.UnmarshalText([]byte(n.text)); err != nil {
		d.refuse(n, path, "%s", err)
	}
}

// fields fills a struct. A section without anything in it is as good as none.
func (d *decoder) fields(n *node, path string, out reflect.Value) {
	if n.null() || !d.is(n, path, mapping, "a mapping") {
		return
	}
	byKey := map[string]reflect.Value{}
	var known []string
	for i := range out.NumField() {
		if key := out.Type().Field(i).Tag.Get("yaml"); key != "-" {
			byKey[key] = out.Field(i)
			known = append(known, key)
		}
	}
	d.entries(n, path, func(key string, k, v *node, at string) {
		field, ok := byKey[key]
		if !ok {
			d.unknown(k, path, key, known)
			return
		}
		d.value(v, at, field)
	})
}

// unknown refuses a key. What it was most likely meant for counts as broken,
// so that nobody is told that it is missing as well.
func (d *decoder) unknown(k *node, path, key string, known []string) {
	if meant := suggest(key, known); meant != "" {
		d.broken[join(path, meant)] = true
		d.refuse(k, join(path, key), "unknown key (did you mean %s?)", meant)
		return
	}
	d.refuse(k, join(path, key), "unknown key (known here: %s)", strings.Join(known, ", "))
}

// table fills a map whose keys are up to the operator.
func (d *decoder) table(n *node, path string, out reflect.Value) {
	if n.null() || !d.is(n, path, mapping, "a mapping") {
		return
	}
	out.Set(reflect.MakeMap(out.Type()))
	d.entries(n, path, func(key string, _, v *node, at string) {
		elem := reflect.New(out.Type().Elem()).Elem()
		d.value(v, at, elem)
		out.SetMapIndex(reflect.ValueOf(key), elem)
	})
}

// entries calls each for the entries of a mapping, with the node of the key,
// that of the value, and the path of the value. It refuses keys that are no
// words or that stand there twice.
func (d *decoder) entries(n *node, path string, each func(key string, k, v *node, at string)) {
	first := map[string]int{}
	for i, k := range n.keys {
		switch {
		case k.refused != "":
			d.refuse(k, path, "%s", k.refused)
			continue
		case k.kind != scalar:
			d.refuse(k, path, "a key is %s: only a word can be one", k.what())
			continue
		}
		at := join(path, k.text)
		if line, ok := first[k.text]; ok {
			// Its value is read all the same, for what is wrong with that.
			d.found.add(k.at, at, "duplicate key (it is on line %d already)", line)
		} else {
			first[k.text] = k.at.line
		}
		d.at[at] = k.at
		each(k.text, k, n.items[i], at)
	}
}

// sequence fills a slice, which takes the place of what was in it. A list of
// sections may be without anything, which is what is left when all items are
// commented out; of a list of values it would not be clear whether none or the
// default is meant.
func (d *decoder) sequence(n *node, path string, out reflect.Value) {
	elem := out.Type().Elem()
	if n.null() && elem.Kind() == reflect.Struct {
		return
	}
	if n.null() {
		d.refuse(n, path, "has no value: write a list, or leave the key out for the default")
		return
	}
	if !d.is(n, path, list, "a list") {
		return
	}
	out.Set(reflect.MakeSlice(out.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		at := index(path, i)
		d.at[at] = item.at
		d.value(item, at, out.Index(i))
	}
}

// is refuses a node of another kind.
func (d *decoder) is(n *node, path string, kind nodeKind, want string) bool {
	if n.kind == kind {
		return true
	}
	d.refuse(n, path, "wrong type: want %s, got %s", want, n.what())
	return false
}

// isScalar refuses a node that is no scalar of the given tag; any will do where
// the tag is empty.
func (d *decoder) isScalar(n *node, path, tag, want string) bool {
	switch {
	case !d.is(n, path, scalar, want):
		return false
	case n.null():
		d.refuse(n, path, "has no value: write one, or leave it out")
		return false
	case tag != "" && tag != n.tag:
		hint := ""
		if tag == "!!str" {
			hint = " (put it in quotes)"
		}
		d.refuse(n, path, "wrong type: want %s, got %s%s", want, n.what(), hint)
		return false
	}
	return true
}

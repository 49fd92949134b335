package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3" // imported here only, so that another parser can take its place
)

// node is a node of the one document of a config file.
type node struct {
	kind nodeKind
	at   place
	// refused says why the node may not stand in a config at all. Such a node
	// has neither text nor children.
	refused string
	text    string  // of a scalar
	tag     string  // of a scalar, as YAML resolves it: "!!str", "!!int", "!!null" ...
	keys    []*node // of a mapping, beside items
	items   []*node // of a mapping or list
}

type nodeKind uint8

const (
	scalar nodeKind = iota
	mapping
	list
)

func (n *node) null() bool { return n.kind == scalar && n.refused == "" && n.tag == "!!null" }

// what says what the node is, for people.
func (n *node) what() string {
	switch {
	case n.kind == mapping:
		return "a mapping"
	case n.kind == list:
		return "a list"
	}
	switch n.tag {
	case "!!str":
		return "a string"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!timestamp":
		return "a date"
	case "!!null":
		return "nothing"
	}
	return "a value"
}

// parseYAML returns the root of the first document, or nil where there is
// nothing in it or the data is not YAML, which it adds to the problems.
func parseYAML(data []byte, p *problems) *node {
	if len(data) > MaxSize {
		p.add(place{}, "", "is larger than %d KiB", MaxSize>>10)
		return nil
	}
	// The parser takes UTF-16 as well, in which lines cannot be counted by bytes.
	if !utf8.Valid(data) {
		p.add(place{line: 1 + bytes.Count(data[:firstInvalid(data)], []byte("\n"))}, "", "is not UTF-8 text")
		return nil
	}
	first, second, err := documents(data)
	if err != nil {
		p.add(place{line: syntaxLine(data, err)}, "", "%s", syntaxMessage(err))
		return nil
	}
	if second != nil {
		p.add(place{second.Line, second.Column}, "", "a second document: a config file has only one")
	}
	if first == nil || len(first.Content) == 0 {
		return nil
	}
	if root := convert(first.Content[0]); !root.null() {
		return root
	}
	return nil
}

// documents returns the first two documents of a stream, nil where there are
// fewer.
func documents(data []byte) (first, second *yaml.Node, err error) {
	// The parser is no longer developed: a fault of its own is one of the file's.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for _, doc := range []**yaml.Node{&first, &second} {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		*doc = &n
	}
	return first, second, nil
}

// What of YAML is refused. Aliases let a small file grow without bound, and a
// tag changes a value's type behind the back of whoever reads the file.
const (
	noAliases   = "anchors and aliases are not supported: write the value out"
	noMergeKeys = "merge keys are not supported: write the values out"
	noTags      = "YAML tags are not supported: write the value without one"
)

// convert copies a node and what is below it. The parser bounds the depth.
func convert(y *yaml.Node) *node {
	n := &node{at: place{y.Line, y.Column}}
	switch {
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		n.refused = noAliases
	case y.Tag == "!!merge":
		n.refused = noMergeKeys
	case y.Style&yaml.TaggedStyle != 0:
		n.refused = noTags
	case y.Kind == yaml.ScalarNode:
		n.text, n.tag = y.Value, y.Tag
	case y.Kind == yaml.SequenceNode:
		n.kind = list
		for _, item := range y.Content {
			n.items = append(n.items, convert(item))
		}
	default:
		n.kind = mapping
		for i := 0; i+1 < len(y.Content); i += 2 {
			n.keys = append(n.keys, convert(y.Content[i]))
			n.items = append(n.items, convert(y.Content[i+1]))
		}
	}
	return n
}

var parserPrefix = regexp.MustCompile(`^yaml: (line \d+: )?`)

// syntaxMessage returns what the parser says against a file, without the line
// that it names, and what to do about the mistakes that people make most.
func syntaxMessage(err error) string {
	message := parserPrefix.ReplaceAllString(err.Error(), "")
	hint := ""
	switch {
	case strings.HasPrefix(message, "unknown anchor"):
		return noAliases
	case strings.HasPrefix(message, "mapping values are not allowed"):
		hint = " (text with a colon and a space in it needs quotes)"
	case strings.HasPrefix(message, "found character that cannot start any token"):
		hint = " (text that begins with @, ` or % needs quotes, and tabs do not indent)"
	case strings.HasPrefix(message, "found a tab"):
		hint = " (indent with spaces)"
	case message == "did not find expected key":
		hint = " (is the line indented like its neighbours?)"
	case message == "found unexpected end of stream":
		hint = " (is a quote left open?)"
	}
	return "not YAML: " + message + hint
}

// syntaxLine returns the line at which the parser meets the error. The parser
// itself names the start of what it was reading, one line off, or no line. So
// the line is the last one of the shortest beginning of the file with that
// very error.
func syntaxLine(data []byte, whole error) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	ends := make([]int, len(lines))
	end := 0
	for i, line := range lines {
		end += len(line)
		ends[i] = end
	}
	// The last line needs no proof.
	return 1 + sort.Search(len(ends)-1, func(i int) bool {
		_, _, err := documents(data[:ends[i]])
		return err != nil && err.Error() == whole.Error()
	})
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

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

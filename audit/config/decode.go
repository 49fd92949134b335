package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// MaxSize is the size in bytes that a config file may have.
const MaxSize = 1 << 20

// parseYAML returns the root of the only document, or nil if the document is empty.
// If the data is not YAML it adds that to the problems and returns nil.
func parseYAML(data []byte, p *problems) *yaml.Node {
	if len(data) > MaxSize {
		p.add(place{}, "", "larger than %d KiB", MaxSize>>10)
		return nil
	}
	if line, fault := notText(data); fault != "" {
		p.add(place{line: line}, "", "%s", fault)
		return nil
	}
	first, second, err := documents(data)
	if err != nil {
		line, message := syntaxError(data, err)
		p.add(place{line: line}, "", "%s", message)
		return nil
	}
	if second != nil {
		p.add(placeOf(second), "", "a config file has only one document, this is a second one")
	}
	if first == nil || len(first.Content) == 0 {
		return nil
	}
	if root := first.Content[0]; unsupported(root) != "" || !isNull(root) {
		return root
	}
	return nil
}

// notText returns where the data stops being text that YAML allows, and why. The
// parser also reads UTF-16, and names no line for a control character.
func notText(data []byte) (line int, fault string) {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fault = "not UTF-8 text"
		case unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r):
			fault = "not YAML: control characters are not allowed"
		}
		if fault != "" {
			return 1 + bytes.Count(data[:i], []byte("\n")), fault
		}
		i += size
	}
	return 0, ""
}

// documents returns the first two documents of a stream, nil if there are fewer.
func documents(data []byte) (first, second *yaml.Node, err error) {
	// The parser is no longer developed: a bug in it is reported as a fault of the file.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: the parser failed: %v", r)
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

var (
	parserError   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxError returns the line that the parser names, the first if it names none, and
// its message with a hint for the most frequent mistakes.
func syntaxError(data []byte, err error) (line int, message string) {
	message = err.Error()
	if m := parserError.FindStringSubmatch(message); m != nil {
		message = m[2]
		line, _ = strconv.Atoi(m[1])
	}
	if strings.HasPrefix(message, "did not find expected") {
		line++ // the parser counts lines from zero here
	}
	line = max(line, 1)
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		return 1 + bytes.Count(before, []byte("\n")), noAliases
	}
	hint := ""
	switch {
	case strings.HasPrefix(message, "mapping values are not allowed"):
		hint = " (text with a colon and a space in it needs quotes)"
	case strings.HasPrefix(message, "found character that cannot start any token"):
		hint = " (text that begins with @, ` or % needs quotes, and indentation must not contain tabs)"
	case strings.HasPrefix(message, "found a tab"):
		hint = " (indent with spaces)"
	case message == "did not find expected key":
		hint = " (check the indentation below this line)"
	case message == "found unexpected end of stream":
		hint = " (check for a missing closing quote)"
	}
	return line, "not YAML: " + message + hint
}

// The parts of YAML that are refused. Aliases let a small file grow without bound,
// and a tag changes the type of a value in a way that is easy to overlook.
const (
	noAliases   = "anchors and aliases are not supported, write out the value"
	noMergeKeys = "merge keys are not supported, write out the values"
	noTags      = "YAML tags are not supported, write the value without one"
)

// unsupported returns why a node is refused, or "".
func unsupported(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return noAliases
	case n.Tag == "!!merge":
		return noMergeKeys
	case n.Style&yaml.TaggedStyle != 0:
		return noTags
	}
	return ""
}

func placeOf(n *yaml.Node) place { return place{n.Line, n.Column} }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// describe names the type of a node for people.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
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

// decoder fills Go values from nodes. It continues after a mistake, so that one run
// finds all of them. A struct accepts the keys in its yaml tags and no others; a value
// with a syntax of its own has a type that unmarshals text.
type decoder struct {
	found  *problems
	at     map[string]place // by path, for every path in the file
	broken map[string]bool  // paths whose value was refused
	unsure map[string]bool  // paths with something refused at or below them
}

func newDecoder(found *problems) *decoder {
	return &decoder{found: found, at: map[string]place{}, broken: map[string]bool{}, unsure: map[string]bool{}}
}

// refuse records that the value at a path must not be used.
func (d *decoder) refuse(n *yaml.Node, path, format string, args ...any) {
	d.broken[path] = true
	d.found.add(placeOf(n), path, format, args...)
}

// value fills out, which must be addressable, from the node at a path.
func (d *decoder) value(n *yaml.Node, path string, out reflect.Value) {
	before := len(d.found.list)
	defer func() {
		if len(d.found.list) > before {
			d.unsure[path] = true
		}
	}()
	if why := unsupported(n); why != "" {
		d.refuse(n, path, "%s", why)
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
			out.SetString(n.Value)
		}
	case reflect.Bool:
		if d.isScalar(n, path, "!!bool", "true or false") {
			out.SetBool(strings.EqualFold(n.Value, "true"))
		}
	default:
		d.refuse(n, path, "cannot decode a %s", out.Type())
	}
}

// text lets a type unmarshal its own text, whatever YAML takes it for: to YAML, dates
// and numbers are not strings.
func (d *decoder) text(n *yaml.Node, path string, out encoding.TextUnmarshaler) {
	if !d.isScalar(n, path, "", "a single value") {
		return
	}
	if err := out.UnmarshalText([]byte(n.Value)); err != nil {
		d.refuse(n, path, "%s", err)
	}
}

// fields fills a struct. An empty section is the same as a missing one.
func (d *decoder) fields(n *yaml.Node, path string, out reflect.Value) {
	if isNull(n) || !d.is(n, path, yaml.MappingNode, "a mapping") {
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
	d.entries(n, path, func(key string, k, v *yaml.Node, at string) {
		field, ok := byKey[key]
		if !ok {
			d.unknown(k, path, key, known)
			return
		}
		d.value(v, at, field)
	})
}

// unknown refuses a key. The key that was probably meant counts as broken, so that it
// is not also reported as missing.
func (d *decoder) unknown(k *yaml.Node, path, key string, known []string) {
	if meant := Suggest(key, known); meant != "" {
		d.broken[join(path, meant)] = true
		d.refuse(k, join(path, key), "unknown key, did you mean %s?", meant)
		return
	}
	d.refuse(k, join(path, key), "unknown key, want one of: %s", strings.Join(known, ", "))
}

// table fills a map with arbitrary keys.
func (d *decoder) table(n *yaml.Node, path string, out reflect.Value) {
	if isNull(n) || !d.is(n, path, yaml.MappingNode, "a mapping") {
		return
	}
	out.Set(reflect.MakeMap(out.Type()))
	d.entries(n, path, func(key string, _, v *yaml.Node, at string) {
		elem := reflect.New(out.Type().Elem()).Elem()
		d.value(v, at, elem)
		out.SetMapIndex(reflect.ValueOf(key), elem)
	})
}

// entries calls each for the entries of a mapping, with the node of the key, the node
// of the value, and the path of the value. It refuses keys that are not scalars, and
// duplicates.
func (d *decoder) entries(n *yaml.Node, path string, each func(key string, k, v *yaml.Node, at string)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if why := unsupported(k); why != "" {
			d.refuse(k, path, "%s", why)
			continue
		}
		if k.Kind != yaml.ScalarNode {
			d.refuse(k, path, "keys must be strings, got %s", describe(k))
			continue
		}
		at := join(path, k.Value)
		if line, ok := first[k.Value]; ok {
			// Its value is still read, to find the mistakes in it.
			d.found.add(placeOf(k), at, "duplicate key, first used on line %d", line)
		} else {
			first[k.Value] = k.Line
		}
		d.at[at] = placeOf(k)
		each(k.Value, k, v, at)
	}
}

// sequence fills a slice and replaces what was in it. A list of sections may have no
// value, which is what remains when all items are commented out; for a list of values
// it would be unclear whether an empty list or the default is meant.
func (d *decoder) sequence(n *yaml.Node, path string, out reflect.Value) {
	elem := out.Type().Elem()
	if isNull(n) && elem.Kind() == reflect.Struct {
		return
	}
	if isNull(n) {
		d.refuse(n, path, "no value: write a list, or omit the key for the default")
		return
	}
	if !d.is(n, path, yaml.SequenceNode, "a list") {
		return
	}
	out.Set(reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		at := index(path, i)
		d.at[at] = placeOf(item)
		d.value(item, at, out.Index(i))
	}
}

// is reports whether a node is of a kind, and refuses it if not.
func (d *decoder) is(n *yaml.Node, path string, kind yaml.Kind, want string) bool {
	if n.Kind == kind {
		return true
	}
	d.refuse(n, path, "want %s, got %s", want, describe(n))
	return false
}

// isScalar reports whether a node is a scalar with the given tag, or with any if the
// tag is empty, and refuses it if not.
func (d *decoder) isScalar(n *yaml.Node, path, tag, want string) bool {
	switch {
	case !d.is(n, path, yaml.ScalarNode, want):
		return false
	case isNull(n):
		d.refuse(n, path, "no value: write one, or omit the key")
		return false
	case tag != "" && tag != n.Tag:
		hint := ""
		if tag == "!!str" {
			hint = ": put it in quotes"
		}
		d.refuse(n, path, "want %s, got %s%s", want, describe(n), hint)
		return false
	}
	return true
}

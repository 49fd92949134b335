package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// maxTree bounds the bytes of YAML that are parsed at once. The parser makes a
// tree that takes up to a hundred times their room, and no object that an API
// server would store has more than a few MiB.
const maxTree = 8 << 20

// parseYAML returns the value of one document as JSON.
func parseYAML(document []byte) (v value, err error) {
	// Parsers of YAML have been seen to panic on odd input.
	defer func() {
		if p := recover(); p != nil {
			v, err = value{}, fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	v, err = parseList(document)
	var bad *itemError
	switch {
	case err == nil:
		return v, nil
	case len(document) <= maxTree:
		text, err := parseTree(document)
		return value{text: text}, err
	case errors.Is(err, errNoList):
		return value{}, fmt.Errorf("it has %d MiB, and of what %w not more than %d MiB can be read: "+
			"give it as several documents, or as JSON", len(document)>>20, err, maxTree>>20)
	case errors.As(err, &bad):
		return value{}, bad.inPlace()
	}
	return value{}, err
}

// parseTree parses a document as a whole.
func parseTree(document []byte) (json.RawMessage, error) {
	if !plain(document) {
		if _, err := inspect(document); err != nil {
			return nil, err
		}
	}
	// Of two keys that are the same only one would count, and nobody would know.
	return kyaml.YAMLToJSONStrict(document)
}

// ordinaryLines reports whether lines end as they mostly do, and nowhere else.
func ordinaryLines(document []byte) bool {
	return bytes.Count(document, []byte("\r")) == bytes.Count(document, []byte("\r\n")) &&
		!bytes.ContainsAny(document, "\u0085\u2028\u2029")
}

// directives reports whether a line behind the first one may be a directive, at which
// the parser that makes JSON stops as at an end.
func directives(document []byte) bool { return bytes.Contains(document, []byte("\n%")) }

// aliases reports whether there may be aliases with an anchor to stand for.
func aliases(document []byte) bool {
	return bytes.IndexByte(document, '&') >= 0 && bytes.IndexByte(document, '*') >= 0
}

// plain reports whether a document is a mapping that begins at the left edge,
// with ordinary line ends and without aliases, as nearly all are. Then nothing
// can stand behind its value, and it takes no more room than its text.
func plain(document []byte) bool {
	if aliases(document) || !ordinaryLines(document) || directives(document) {
		return false
	}
	for line := range bytes.Lines(document) {
		if m := markerAt(line); m == begins {
			line = bytes.TrimLeft(line[len("---"):], " \t")
			if len(line) > 0 && line[0] != '#' && line[0] != '\r' && line[0] != '\n' {
				return false
			}
			continue
		}
		switch c := line[0]; {
		case c == '#' || c == '%' || len(bytes.TrimSpace(line)) == 0:
		default:
			return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		}
	}
	return true
}

var errAliases = fmt.Errorf("aliases make more than %d MiB of it", maxDocument>>20)

// inspect returns what the parser that makes JSON would not tell: that it stops
// at the end of the first value, whatever stands behind it, and that aliases
// may make a small text a value without bound. It returns how many bytes they make.
func inspect(document []byte) (int, error) {
	values := yaml.NewDecoder(bytes.NewReader(document))
	var root, more yaml.Node
	if err := values.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, nil // nothing but comments
		}
		return 0, err
	}
	size := weight(&root, map[*yaml.Node]int{})
	if size > maxDocument {
		return 0, errAliases
	}
	if err := values.Decode(&more); !errors.Is(err, io.EOF) {
		return 0, errors.New("something stands behind its end, and no line of --- between")
	}
	return size, nil
}

// weight returns how many bytes a value takes with each alias written out, or
// something above maxDocument. It remembers what has an anchor.
func weight(n *yaml.Node, known map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if w, ok := known[n]; ok {
		return w
	}
	if n.Anchor != "" {
		known[n] = maxDocument + 1 // for a value that holds itself
	}
	w := len(n.Value) + 1
	for _, child := range n.Content {
		w = min(w+weight(child, known), maxDocument+1)
	}
	if n.Anchor != "" {
		known[n] = w
	}
	return w
}

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

// parseYAML returns the value of one document as JSON.
func parseYAML(document []byte) (value json.RawMessage, err error) {
	// Parsers of YAML have been seen to panic on odd input.
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	if !plain(document) {
		if err := inspect(document); err != nil {
			return nil, err
		}
	}
	return kyaml.YAMLToJSON(document)
}

// plain reports whether a document is a mapping that begins at the left edge,
// with ordinary line ends and without aliases, as nearly all are. Then nothing
// can stand behind its value, and it takes no more room than its text.
func plain(document []byte) bool {
	if bytes.IndexByte(document, '&') >= 0 && bytes.IndexByte(document, '*') >= 0 ||
		bytes.Count(document, []byte("\r")) != bytes.Count(document, []byte("\r\n")) ||
		bytes.ContainsAny(document, "\u0085\u2028\u2029") {
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

// inspect returns what the parser that makes JSON would not tell: that it stops
// at the end of the first value, whatever stands behind it, and that aliases
// may make a small text a value without bound.
func inspect(document []byte) error {
	values := yaml.NewDecoder(bytes.NewReader(document))
	var root, more yaml.Node
	if err := values.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // nothing but comments
		}
		return err
	}
	if weight(&root, map[*yaml.Node]int{}) > maxDocument {
		return fmt.Errorf("aliases make more than %d MiB of it", maxDocument>>20)
	}
	if err := values.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind its end, and no line of --- between")
	}
	return nil
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

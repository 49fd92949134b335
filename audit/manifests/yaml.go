package manifests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// maxExpanded bounds the bytes of a YAML document with its aliases written out.
const maxExpanded = 64 << 20

// readYAML reads the documents of a stream.
func (r *reader) readYAML(ctx context.Context, name string, in *bufio.Reader) {
	documents := documents{in: in}
	for n := 1; ctx.Err() == nil; n++ {
		where := fmt.Sprintf("%s document %d", name, n)
		text, err := documents.next()
		var bad documentError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &bad):
			r.problems.add(where, err)
			continue
		case err != nil:
			r.problems.add(where, err)
			return
		}
		converted, later, err := toJSON(text)
		switch {
		case err != nil:
			r.unparsed(where, text, fmt.Errorf("parse YAML: %w", err))
		case string(converted) != "null": // an empty document
			if later {
				r.notes.merges.add(where)
			}
			r.object(where, converted, typeMeta{}, 0)
		}
	}
}

// toJSON converts a YAML document to JSON, with the semantics of kubectl. A repeated key is
// an error, because only one of them would count. It also reports whether kubectl lets a
// merged key win over that of the mapping.
func toJSON(document []byte) (text []byte, later bool, err error) {
	// YAML parsers have been seen to panic on odd input.
	defer func() {
		if p := recover(); p != nil {
			text, later, err = nil, false, fmt.Errorf("the parser panicked: %v", p)
		}
	}()
	if !plain(document) {
		if err := inspect(document); err != nil {
			return nil, false, err
		}
	}
	text, err = kyaml.YAMLToJSONStrict(document)
	if err == nil || !bytes.Contains(document, []byte("<<")) {
		return text, false, err
	}
	merged, mergeErr := mergedToJSON(document)
	switch {
	case mergeErr != nil:
		return nil, false, mergeErr
	case merged == nil:
		return nil, false, err
	}
	return merged, laterWins(document, merged), nil
}

// plain reports whether a document is a mapping that begins in the first column, with
// ordinary line ends, without aliases and without directives after the first line, as
// nearly all are. Then nothing can follow its value, and its value is no larger than its
// text.
func plain(document []byte) bool {
	aliases := bytes.IndexByte(document, '&') >= 0 && bytes.IndexByte(document, '*') >= 0
	if aliases || bytes.Contains(document, []byte("\n%")) || bytes.ContainsAny(document, "\u0085\u2028\u2029") ||
		bytes.Count(document, []byte("\r")) != bytes.Count(document, []byte("\r\n")) {
		return false
	}
	for line := range bytes.Lines(document) {
		if markerAt(line) == begins {
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

// inspect finds what the converter to JSON does not report: it stops at the end of the
// first value, whatever follows, and aliases can expand a small text without bound.
func inspect(document []byte) error {
	values := yaml.NewDecoder(bytes.NewReader(document))
	var root, more yaml.Node
	switch err := values.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil // nothing but comments
	case err != nil:
		return err
	}
	if expanded(&root, map[*yaml.Node]int{}) > maxExpanded {
		return fmt.Errorf("aliases expand it to more than %d MiB", maxExpanded>>20)
	}
	if err := values.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("content follows its end, without a line of --- between")
	}
	return nil
}

// expanded returns how many bytes a value takes with each alias written out, or
// something above maxExpanded. It remembers nodes that have an anchor.
func expanded(n *yaml.Node, known map[*yaml.Node]int) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if size, ok := known[n]; ok {
		return size
	}
	if n.Anchor != "" {
		known[n] = maxExpanded + 1 // for a value that contains itself
	}
	size := len(n.Value) + 1
	for _, child := range n.Content {
		size = min(size+expanded(child, known), maxExpanded+1)
	}
	if n.Anchor != "" {
		known[n] = size
	}
	return size
}

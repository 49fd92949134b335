package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	kyaml "sigs.k8s.io/yaml"
)

// errNoList is why a document cannot be parsed item by item.
var errNoList = errors.New("is no list with each item on lines of its own")

// parseList parses a list item by item, so that there is never a tree of more than
// one of them.
//
// An item ends where a line begins the next. Were that line part of a text in
// quotes or of something in brackets, then what is cut off before it would lack its
// quote or bracket and not parse; anything else in YAML ends at a line that is as
// far to the left. So where every item parses, they were cut rightly. The same
// holds for what is around the items, which is parsed with a mark in their place:
// they are the items of the document if the mark turns up as such.
func parseList(document []byte) (value, error) {
	l, ok := cutList(document)
	if !ok {
		l, ok = cutFlow(document)
	}
	// What is behind the items may be about them: an alias there stands for the last
	// anchor of its name, which may be in an item.
	if !ok || !ordinaryLines(document) || directives(document) || bytes.IndexByte(l.tail, '*') >= 0 {
		return value{}, errNoList
	}
	// No document can have its own digest in it.
	l.mark = fmt.Sprintf("items-of-%x", digestOf(document))
	v, err := l.frame()
	if err != nil {
		return value{}, err
	}
	v.items = &spool{}
	line, weight := 1+bytes.Count(l.head, []byte("\n")), 0
	for item := l.next(); len(item) > 0; item = l.next() {
		text, w, err := l.parseItem(item)
		if err != nil {
			return value{}, &itemError{line: line, text: item, err: err}
		}
		if weight += w; weight > maxDocument {
			return value{}, errAliases
		}
		v.items.add(text)
		line += bytes.Count(item, []byte("\n"))
	}
	return v, nil
}

// frame parses what is around the items.
func (l *listText) frame() (value, error) {
	size := len(l.head) + len(l.tail)
	if size > maxTree {
		return value{}, errNoList
	}
	item := []byte(l.mark)
	if !l.flow {
		item = slices.Concat(bytes.Repeat([]byte(" "), l.indent), []byte("- "+l.mark+"\n"))
	}
	whole, err := parseTree(slices.Concat(l.head, item, l.tail))
	if err != nil {
		return value{}, errNoList
	}
	v, err := readValue(json.NewDecoder(bytes.NewReader(whole)))
	if err != nil || v.items == nil || v.items.texts != 1 {
		return value{}, errNoList
	}
	for item := range v.items.drain() {
		if string(item) != `"`+l.mark+`"` {
			return value{}, errNoList
		}
	}
	return v, nil
}

// parseItem parses one item. With it comes what its aliases make of it, or 0.
func (l *listText) parseItem(text []byte) (item []byte, weight int, err error) {
	if len(text) > maxTree {
		return nil, 0, fmt.Errorf("it has %d MiB, more than %d MiB", len(text)>>20, maxTree>>20)
	}
	if l.flow {
		// The parser stops at the end of a value and does not look behind it: that it
		// did not stop within the item shows by what it finds behind.
		text = slices.Concat([]byte("["), text, []byte(", "+l.mark+"]"))
	}
	if aliases(text) {
		if weight, err = inspect(text); err != nil {
			return nil, 0, err
		}
	}
	list, err := kyaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, 0, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, 0, err
	}
	if last := len(items) - 1; l.flow && last >= 0 && string(items[last]) == `"`+l.mark+`"` {
		items = items[:last]
	} else if l.flow {
		items = nil
	}
	if len(items) != 1 {
		return nil, 0, errors.New("it is not one item")
	}
	return items[0], weight, nil
}

// itemError is why an item cannot be parsed.
type itemError struct {
	line int // of the document, where the item begins
	text []byte
	err  error
}

func (e *itemError) Error() string {
	return fmt.Sprintf("the item at line %d: %v", e.line, e.err)
}

// inPlace returns the error with lines counted from the beginning of the document,
// as where that is parsed as a whole.
func (e *itemError) inPlace() error {
	_, err := kyaml.YAMLToJSON(append(bytes.Repeat([]byte("\n"), e.line-1), e.text...))
	if err == nil || len(e.text) > maxTree {
		return e
	}
	return err
}

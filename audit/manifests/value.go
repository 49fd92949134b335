package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// value is one value of JSON. Where it is a mapping with a list of items those
// stand apart: as a whole a list may be the larger part of all memory, and it is
// taken in and let go item by item.
type value struct {
	// text is the value, with an empty list in place of the items that stand apart.
	text json.RawMessage
	// items are nil where none stand apart. Their place is text[at].
	items *spool
	at    int
}

// whole returns the value as one text. The items are not there any more then.
func (v *value) whole() json.RawMessage {
	if v.items == nil {
		return v.text
	}
	out := append(json.RawMessage{}, v.text[:v.at]...)
	for item := range v.items.drain() {
		if len(out) > v.at {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, v.text[v.at:]...)
}

// readValue reads the next value, or returns io.EOF. Of one that is no mapping it
// tells just that.
func readValue(d *json.Decoder) (value, error) {
	first, err := d.Token()
	if err != nil {
		return value{}, err
	}
	var v value
	switch first {
	case json.Delim('{'):
		err = v.members(d, true)
	case json.Delim('['):
		v.text = append(v.text, "[]"...)
		err = elements(d, func() error { return d.Decode(&skipped{}) })
	case nil:
		v.text = append(v.text, "null"...)
	default:
		v.text = append(v.text, "0"...)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

// members reads a mapping whose brace has been read.
func (v *value) members(d *json.Decoder, top bool) error {
	v.text = append(v.text, '{')
	seen := map[json.Token]bool{}
	for n := 0; ; n++ {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key == json.Delim('}') {
			v.text = append(v.text, '}')
			return nil
		}
		// Only one would count, and nobody would know.
		if seen[key] && top {
			return fmt.Errorf("there is more than one %q", key)
		}
		seen[key] = true
		if n > 0 {
			v.text = append(v.text, ',')
		}
		if err := v.scalar(key); err != nil {
			return err
		}
		v.text = append(v.text, ':')
		if top && key == "items" {
			err = v.readItems(d)
		} else {
			err = d.Decode((*tail)(&v.text))
		}
		if err != nil {
			return err
		}
	}
}

// readItems reads what is called the items of a value, be it a list or not.
func (v *value) readItems(d *json.Decoder) error {
	first, err := d.Token()
	if err != nil {
		return err
	}
	switch first {
	case json.Delim('{'):
		return v.members(d, false)
	case json.Delim('['):
		v.items, v.at = &spool{}, len(v.text)+1
		v.text = append(v.text, "[]"...)
		return elements(d, func() error { return d.Decode((*spooled)(v.items)) })
	}
	return v.scalar(first)
}

func (v *value) scalar(token json.Token) error {
	text, err := json.Marshal(token)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	v.text = append(v.text, text...)
	return nil
}

// elements reads a list whose bracket has been read.
func elements(d *json.Decoder, read func() error) error {
	for d.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// tail takes a value as it is written to its end.
type tail []byte

func (t *tail) UnmarshalJSON(text []byte) error {
	*t = append(*t, text...)
	return nil
}

// spooled takes a value as it is written.
type spooled spool

func (s *spooled) UnmarshalJSON(text []byte) error {
	(*spool)(s).add(text)
	return nil
}

// skipped takes any value.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadJSON reads a page of a list in JSON, and calls a function with each object, so
// that only that object is in memory: this is what bounds the memory of a sweep. The
// bytes are valid until it returns. The token of the next page usually follows the last
// object. A response that an API server would not send, such as one with a duplicate
// member, is an error.
func ReadJSON(body io.Reader, p *Page, item func(json.RawMessage) error) error {
	var list listHead
	in := json.NewDecoder(body)
	err := members(in, func(name string) error {
		switch name {
		case "kind":
			return in.Decode(&list.kind)
		case "message":
			return in.Decode(&list.message)
		case "metadata":
			return members(in, list.metadata(in))
		case "items":
			list.items = true
			var o json.RawMessage
			return elements(in, func() error {
				if err := in.Decode(&o); err != nil {
					return err
				}
				if string(o) == "null" {
					return errNull
				}
				p.items++
				return item(o)
			})
		}
		return skip(in)
	})
	var object *ObjectError
	switch {
	case errors.As(err, &object):
		return object
	case errors.Is(err, io.ErrUnexpectedEOF):
		return endedEarly(io.ErrUnexpectedEOF)
	case err != nil:
		return fmt.Errorf("decode list: %w", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode list: unexpected data after the list")
	}
	if err := list.check(p); err != nil {
		return err
	}
	return p.head(list.version, list.next, in.InputOffset())
}

// listHead is what a list, or what was sent instead of one, holds beside its items.
type listHead struct {
	kind, message, version, next string
	items                        bool // there is a member "items", even if it is null
}

func (h *listHead) metadata(in *json.Decoder) func(name string) error {
	return func(name string) error {
		switch name {
		case "resourceVersion":
			return in.Decode(&h.version)
		case "continue":
			return in.Decode(&h.next)
		}
		return skip(in)
	}
}

func (h *listHead) check(p *Page) error {
	err := p.check(h.kind)
	switch {
	case err != nil && h.message != "":
		return fmt.Errorf("%w: %s", err, h.message)
	case err != nil:
		return err
	case !h.items:
		return ErrNotList
	}
	return nil
}

// members calls a function for each member of an object. The function must read the value.
func members(in *json.Decoder, value func(name string) error) error {
	if err := begin(in, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return err
		}
		name := token.(string) // the decoder accepts no other name
		if seen[name] {
			return fmt.Errorf("duplicate member %q", name)
		}
		seen[name] = true
		if err := value(name); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// elements calls a function for each element of an array. The function must read the
// element. Null has no elements.
func elements(in *json.Decoder, element func() error) error {
	if err := begin(in, '['); err != nil {
		if errors.Is(err, errNull) {
			return nil
		}
		return err
	}
	for in.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// skip reads a value and ignores it.
func skip(in *json.Decoder) error {
	for depth := 0; ; {
		token, err := in.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

var errNull = errors.New("unexpected null")

func begin(in *json.Decoder, with json.Delim) error {
	token, err := in.Token()
	switch {
	case err != nil:
		return err
	case token == nil:
		return errNull
	case token != with:
		return fmt.Errorf("found %v, want %v", token, with)
	}
	return nil
}

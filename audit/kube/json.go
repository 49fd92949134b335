package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// listHead is what a list in JSON, or what comes in its place, says of itself.
type listHead struct {
	kind, message, version, next string
	items                        bool // there are any, if only none
}

// readJSON reads a page of a list that is JSON, and calls a function with one object
// after the other, so that none but that is in memory. Where the next page begins
// mostly stands behind the last object. What an API server would not send is no list.
func readJSON(body io.Reader, p *page, item func(json.RawMessage) error) error {
	var head listHead
	in := json.NewDecoder(body)
	err := members(in, func(name string) error {
		switch name {
		case "kind":
			return in.Decode(&head.kind)
		case "message":
			return in.Decode(&head.message)
		case "metadata":
			return members(in, head.meta(in))
		case "items":
			head.items = true
			return elements(in, func() error {
				var o json.RawMessage
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
	var object *objectError
	switch {
	case errors.As(err, &object):
		return object
	case errors.Is(err, io.ErrUnexpectedEOF):
		return brokeOff(io.ErrUnexpectedEOF)
	case err != nil:
		return fmt.Errorf("decode list: %w", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode list: there is something behind it")
	}
	if err := head.check(p.kind); err != nil {
		return err
	}
	return p.head(head.version, head.next, in.InputOffset())
}

func (h *listHead) meta(in *json.Decoder) func(name string) error {
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

func (h *listHead) check(wanted string) error {
	err := isList(h.kind, wanted)
	switch {
	case err != nil && h.message != "":
		return fmt.Errorf("%w: %s", err, h.message)
	case err != nil:
		return err
	case !h.items:
		return errNoList
	}
	return nil
}

// members calls a function for each member of an object, which has to read its value.
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
		name := token.(string) // the decoder takes nothing else for a name
		if seen[name] {
			return fmt.Errorf("there is more than one %q", name)
		}
		seen[name] = true
		if err := value(name); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// elements calls a function for each element of an array, which has to read it. Of
// null there are none.
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

// skip passes over a value.
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

// errNull is a null where there should be something.
var errNull = errors.New("there is null where something should be")

func begin(in *json.Decoder, with json.Delim) error {
	token, err := in.Token()
	switch {
	case err != nil:
		return err
	case token == nil:
		return errNull
	case token != with:
		return fmt.Errorf("there is %v and not %v", token, with)
	}
	return nil
}

package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readJSON reads a page of a list that is JSON, and calls a function with one object
// after the other, so that none but that is in memory. Where the next page begins
// mostly stands behind the last object.
func readJSON[O any](body io.Reader, p *page, item func(*O) error) error {
	var meta metav1.ListMeta
	in := json.NewDecoder(body)
	seen := map[string]bool{}
	err := members(in, func(name string) error {
		if seen[name] {
			return fmt.Errorf("there is more than one %q", name)
		}
		seen[name] = true
		switch name {
		case "metadata":
			return in.Decode(&meta)
		case "items":
			return elements(in, func() error {
				var o O
				if err := in.Decode(&o); err != nil {
					return err
				}
				p.items++
				return item(&o)
			})
		}
		var other json.RawMessage
		return in.Decode(&other)
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
	return p.head(meta.ResourceVersion, meta.Continue, in.InputOffset())
}

// members calls a function for each member of an object, which has to read its value.
func members(in *json.Decoder, value func(name string) error) error {
	if err := begin(in, '{'); err != nil {
		return err
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		if err := value(name.(string)); err != nil { // the decoder takes nothing else for a name
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

// errNull is a null where there should be something.
var errNull = errors.New("it is null")

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

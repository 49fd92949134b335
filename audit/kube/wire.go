package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The bytes before all protobuf of an API server, and the fields of its envelope,
// of a list and of a list's metadata. That the numbers stay is the API's promise:
// what is stored in etcd is of the same form.
const (
	wireMagic        = "k8s\x00"
	envelopeType     = 1
	envelopeRaw      = 2
	envelopeEncoding = 3
	typeKind         = 2
	listMetadata     = 1
	listItems        = 2
	metaVersion      = 2
	metaContinue     = 3
	metaRemaining    = 4
)

// isWire reports whether an answer is protobuf.
func isWire(body *bufio.Reader) bool {
	magic, _ := body.Peek(len(wireMagic)) // who reads it sees the error, too
	return bytes.Equal(magic, []byte(wireMagic))
}

// wireList takes in a list as it comes.
//
// The typed clients decode the list as a whole: they copy it, and then hold all
// objects of a page with all their fields at once. Here each object is found where
// it lies.
type wireList struct {
	kind string // that it has to be of
	// head is called once, with the metadata and the bytes that the list is of.
	head func(wireMeta, int64) error
	// item is called with each object. The bytes hold until it returns.
	item func([]byte) error
	long *bytes.Buffer // for what is longer than what is held of an answer at once
}

// wireMeta are the metadata of a list.
type wireMeta struct {
	version, next string
	remaining     int // objects on later pages, zero where that is not said
}

// read reads an answer to its end.
func (l wireList) read(body *bufio.Reader) error {
	if _, err := body.Discard(len(wireMagic)); err != nil {
		return brokeOff(err)
	}
	listed := false
	envelope := wire{in: body, left: math.MaxInt64, open: true, long: l.long}
	err := envelope.walk(func(n protowire.Number, size int64) error {
		switch n {
		case envelopeType:
			return envelope.typed(size, l.kind)
		case envelopeRaw:
			if listed {
				return errGarbled
			}
			listed = true
			return l.items(&wire{in: body, left: size, long: l.long}, size)
		case envelopeEncoding:
			value, err := envelope.bytes(size)
			if err == nil && len(value) > 0 {
				err = fmt.Errorf("the answer is in encoding %q", value)
			}
			return err
		}
		return envelope.skip(size)
	}, envelopeType, envelopeRaw, envelopeEncoding)
	if err == nil && !listed {
		err = errNoList
	}
	return err
}

func (l wireList) items(w *wire, size int64) error {
	headed := false
	err := w.walk(func(n protowire.Number, length int64) error {
		switch n {
		case listMetadata:
			value, err := w.bytes(length)
			if err != nil {
				return err
			}
			if headed {
				return errGarbled
			}
			headed = true
			var meta wireMeta
			if err := walk(value, meta.field); err != nil {
				return err
			}
			return l.head(meta, size)
		case listItems:
			value, err := w.bytes(length)
			if err != nil {
				return err
			}
			return l.item(value)
		}
		return w.skip(length)
	}, listMetadata, listItems)
	if err == nil && !headed {
		err = errNoList
	}
	return err
}

// field takes in a field of the metadata.
func (m *wireMeta) field(n protowire.Number, kind protowire.Type, value []byte) error {
	switch {
	case n == metaVersion && kind == protowire.BytesType && m.version == "":
		m.version = string(value)
	case n == metaContinue && kind == protowire.BytesType && m.next == "":
		m.next = string(value)
	case n == metaRemaining && kind == protowire.VarintType:
		count, _ := protowire.ConsumeVarint(value)
		m.remaining = int(min(count, math.MaxInt32))
	case n == metaVersion || n == metaContinue || n == metaRemaining:
		return errGarbled
	}
	return nil
}

// typed reads the type of an answer, which has to be that of a list.
func (w *wire) typed(size int64, wanted string) error {
	value, err := w.bytes(size)
	if err != nil {
		return err
	}
	return walk(value, func(n protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case n != typeKind:
			return nil
		case kind != protowire.BytesType:
			return errGarbled
		}
		return isList(string(value), wanted)
	})
}

// errGarbled is an answer that says it is protobuf and does not read as such.
var errGarbled = errors.New("the answer is garbled")

// walk calls a function for each field of a message, with the bytes of a text or of
// another message, and with a number as it is encoded.
func walk(message []byte, found func(protowire.Number, protowire.Type, []byte) error) error {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return errGarbled
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return errGarbled
		}
		value := message[tag : tag+size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := found(number, kind, value); err != nil {
			return err
		}
		message = message[tag+size:]
	}
	return nil
}

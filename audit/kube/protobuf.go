package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The bytes before all protobuf of an API server, and the fields of its envelope, of
// a list and of a list's metadata. The API promises that these numbers stay: what is
// stored in etcd has the same form.
const (
	protobufMagic    = "k8s\x00"
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

// ErrMalformed is a response that claims to be protobuf and can't be decoded.
var ErrMalformed = errors.New("the response is malformed")

// IsProtobuf reports whether a response is protobuf.
func IsProtobuf(body *bufio.Reader) bool {
	magic, _ := body.Peek(len(protobufMagic)) // whatever reads next sees the error, too
	return bytes.Equal(magic, []byte(protobufMagic))
}

// maxExpected bounds the room made at once for the objects that a server announces.
const maxExpected = 1 << 18

// ReadProtobuf reads a page of a list in protobuf, and calls a function with each
// object. The bytes are valid until it returns. Where more pages follow, it first
// calls expect with the number of objects that are still to come.
//
// The typed clients decode a list as a whole: they copy it, and then hold all objects
// of a page with all their fields at once. Here each object is found where it is in
// the response: the targets for the time and the memory of a sweep depend on that.
func ReadProtobuf(body *bufio.Reader, p *Page, expect func(objects int), item func([]byte) error) error {
	if _, err := body.Discard(len(protobufMagic)); err != nil {
		return endedEarly(err)
	}
	listed := false
	envelope := message{in: body, left: math.MaxInt64, open: true, buffer: p.buffer}
	err := envelope.walk(func(n protowire.Number, size int64) error {
		switch n {
		case envelopeType:
			return envelope.checkType(size, p)
		case envelopeRaw:
			if listed {
				return ErrMalformed
			}
			listed = true
			return readItems(&message{in: body, left: size, buffer: p.buffer}, size, p, expect, item)
		case envelopeEncoding:
			value, err := envelope.bytes(size)
			if err == nil && len(value) > 0 {
				err = fmt.Errorf("the response has encoding %q", value)
			}
			return err
		}
		return envelope.skip(size)
	}, envelopeType, envelopeRaw, envelopeEncoding)
	if err == nil && !listed {
		err = ErrNotList
	}
	return err
}

func readItems(m *message, size int64, p *Page, expect func(objects int), item func([]byte) error) error {
	headed := false
	err := m.walk(func(n protowire.Number, length int64) error {
		switch n {
		case listMetadata:
			value, err := m.bytes(length)
			if err != nil {
				return err
			}
			if headed {
				return ErrMalformed
			}
			headed = true
			var meta listMeta
			if err := walk(value, meta.field); err != nil {
				return err
			}
			if meta.next != "" {
				expect(int(p.Opts.Limit) + min(meta.remaining, maxExpected))
			}
			return p.head(meta.version, meta.next, size)
		case listItems:
			value, err := m.bytes(length)
			if err != nil {
				return err
			}
			p.items++
			return item(value)
		}
		return m.skip(length)
	}, listMetadata, listItems)
	if err == nil && !headed {
		err = ErrNotList
	}
	return err
}

// listMeta is the metadata of a list.
type listMeta struct {
	version, next string
	remaining     int // objects on later pages, zero where the server does not say
}

// field takes in a field of the metadata.
func (m *listMeta) field(n protowire.Number, kind protowire.Type, value []byte) error {
	switch {
	case n == metaVersion && kind == protowire.BytesType && m.version == "":
		m.version = string(value)
	case n == metaContinue && kind == protowire.BytesType && m.next == "":
		m.next = string(value)
	case n == metaRemaining && kind == protowire.VarintType:
		count, _ := protowire.ConsumeVarint(value)
		m.remaining = int(min(count, math.MaxInt32))
	case n == metaVersion || n == metaContinue || n == metaRemaining:
		return ErrMalformed
	}
	return nil
}

// checkType reads the type of a response, which must be that of the list.
func (m *message) checkType(size int64, p *Page) error {
	value, err := m.bytes(size)
	if err != nil {
		return err
	}
	return walk(value, func(n protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case n != typeKind:
			return nil
		case kind != protowire.BytesType:
			return ErrMalformed
		}
		return p.check(string(value))
	})
}

// walk calls a function for each field of a message that is in memory, with the bytes
// of a text or of another message, or with an encoded number.
func walk(data []byte, found func(protowire.Number, protowire.Type, []byte) error) error {
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			return ErrMalformed
		}
		size := protowire.ConsumeFieldValue(number, kind, data[tag:])
		if size < 0 {
			return ErrMalformed
		}
		value := data[tag : tag+size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := found(number, kind, value); err != nil {
			return err
		}
		data = data[tag+size:]
	}
	return nil
}

// message is a message of protobuf that is read as it comes in.
type message struct {
	in     *bufio.Reader
	left   int64         // bytes of the message that are still to come
	open   bool          // the message ends where the response does, not after left
	buffer *bytes.Buffer // for fields that are longer than the buffer of in
}

// walk calls a function for each field of the message that holds bytes: a text or
// another message. The function gets their number, and must read or skip them. The
// message is malformed if one of the given fields does not hold bytes.
func (m *message) walk(found func(n protowire.Number, size int64) error, bytes ...protowire.Number) error {
	for !m.ended() {
		tag, err := m.varint()
		if err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		if number < protowire.MinValidNumber || kind != protowire.BytesType && slices.Contains(bytes, number) {
			return ErrMalformed
		}
		switch kind {
		case protowire.BytesType:
			size, err := m.varint()
			if err != nil {
				return err
			}
			if size > uint64(m.left) {
				return ErrMalformed
			}
			left := m.left - int64(size)
			if err := found(number, int64(size)); err != nil {
				return err
			}
			m.left = left
		case protowire.VarintType:
			_, err = m.varint()
		case protowire.Fixed32Type:
			err = m.skip(4)
		case protowire.Fixed64Type:
			err = m.skip(8)
		default:
			err = ErrMalformed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether the message is at its end. Whether the response ended where
// it should is for the next read to find out.
func (m *message) ended() bool {
	if !m.open {
		return m.left == 0
	}
	_, err := m.in.Peek(1)
	return errors.Is(err, io.EOF)
}

// maxBytes bounds one object. No API server stores one that is half as large.
const maxBytes = 64 << 20

// bytes returns the next bytes of the message, which hold until the next read.
func (m *message) bytes(n int64) ([]byte, error) {
	if n > m.left {
		return nil, ErrMalformed
	}
	if n > maxBytes {
		return nil, fmt.Errorf("an object has %d MiB", n>>20)
	}
	m.left -= n
	if n <= int64(m.in.Size()) {
		value, err := m.in.Peek(int(n))
		if err != nil {
			return nil, unfinished(err)
		}
		_, err = m.in.Discard(int(n)) // the peeked bytes stay in place
		return value, err
	}
	// A buffer of length n would be as large as the server claims.
	m.buffer.Reset()
	if _, err := io.CopyN(m.buffer, m.in, n); err != nil {
		return nil, unfinished(err)
	}
	return m.buffer.Bytes(), nil
}

func (m *message) skip(n int64) error {
	if n > m.left {
		return ErrMalformed
	}
	m.left -= n
	if _, err := m.in.Discard(int(n)); err != nil {
		return unfinished(err)
	}
	return nil
}

func (m *message) varint() (uint64, error) {
	var n uint64
	for shift := 0; shift < 64 && m.left > 0; shift += 7 {
		b, err := m.in.ReadByte()
		if err != nil {
			return 0, unfinished(err)
		}
		m.left--
		if shift == 63 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, ErrMalformed
}

// unfinished explains why a message can't be read any further. A response that ends
// without an error, but within a message, was never complete.
func unfinished(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrMalformed
	}
	return endedEarly(err)
}

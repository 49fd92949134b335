package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire is a message of protobuf that is read as it comes in.
type wire struct {
	in   *bufio.Reader
	left int64         // bytes of the message that are still to come
	open bool          // its end is that of what comes in, and not a number of bytes
	long *bytes.Buffer // for what is longer than what is held of the answer at once
}

// walk calls a function for each field of the message that holds bytes: a text or
// another message. It is told how many they are, and reads them or skips them. Those
// of the fields given hold bytes, or the message is garbled.
func (w *wire) walk(found func(n protowire.Number, size int64) error, bytes ...protowire.Number) error {
	for !w.ended() {
		tag, err := w.varint()
		if err != nil {
			return err
		}
		number, kind := protowire.DecodeTag(tag)
		if number < protowire.MinValidNumber || kind != protowire.BytesType && slices.Contains(bytes, number) {
			return errGarbled
		}
		switch kind {
		case protowire.BytesType:
			size, err := w.varint()
			if err != nil {
				return err
			}
			if size > uint64(w.left) {
				return errGarbled
			}
			left := w.left - int64(size)
			if err := found(number, int64(size)); err != nil {
				return err
			}
			w.left = left
		case protowire.VarintType:
			_, err = w.varint()
		case protowire.Fixed32Type:
			err = w.skip(4)
		case protowire.Fixed64Type:
			err = w.skip(8)
		default:
			err = errGarbled
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether the message is at its end. Whether what came in ended as it
// had to is for the next read to find out.
func (w *wire) ended() bool {
	if !w.open {
		return w.left == 0
	}
	_, err := w.in.Peek(1)
	return errors.Is(err, io.EOF)
}

// mostBytes bounds one object. No API server stores one that is half as large.
const mostBytes = 64 << 20

// bytes returns the next bytes of the message, which hold until the next read.
func (w *wire) bytes(n int64) ([]byte, error) {
	if n > w.left {
		return nil, errGarbled
	}
	if n > mostBytes {
		return nil, fmt.Errorf("there is an object of %d MiB", n>>20)
	}
	w.left -= n
	if n <= int64(w.in.Size()) {
		value, err := w.in.Peek(int(n))
		if err != nil {
			return nil, unfinished(err)
		}
		_, err = w.in.Discard(int(n)) // what was peeked at stays where it is
		return value, err
	}
	// A buffer of the length that is said would be as large as anybody says.
	w.long.Reset()
	if _, err := io.CopyN(w.long, w.in, n); err != nil {
		return nil, unfinished(err)
	}
	return w.long.Bytes(), nil
}

func (w *wire) skip(n int64) error {
	if n > w.left {
		return errGarbled
	}
	w.left -= n
	if _, err := w.in.Discard(int(n)); err != nil {
		return unfinished(err)
	}
	return nil
}

func (w *wire) varint() (uint64, error) {
	var n uint64
	for shift := 0; shift < 64 && w.left > 0; shift += 7 {
		b, err := w.in.ReadByte()
		if err != nil {
			return 0, unfinished(err)
		}
		w.left--
		if shift == 63 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, errGarbled
}

// unfinished says what it means that a message cannot be read any further: an answer that
// ends as answers do, and in the midst of a message, never was a whole one.
func unfinished(err error) error {
	if errors.Is(err, io.EOF) {
		return errGarbled
	}
	return brokeOff(err)
}

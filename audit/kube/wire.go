package kube

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// errGarbled is an answer that says it is protobuf and does not read as such.
var errGarbled = errors.New("the answer is garbled")

// The bytes before all protobuf of an API server, and the fields of its envelope,
// of a list and of a list's metadata. That the numbers stay is the API's promise:
// what is stored in etcd is of the same form.
const (
	wireMagic        = "k8s\x00"
	envelopeRaw      = 2
	envelopeEncoding = 3
	listMetadata     = 1
	listItems        = 2
	metaVersion      = 2
	metaContinue     = 3
	metaRemaining    = 4
)

// wireList is a list whose objects are not decoded yet.
type wireList struct {
	version, next string
	items         [][]byte // parts of what was sent
	remaining     int      // objects on later pages, zero where that is not said
}

// readWire takes a list apart.
//
// The typed clients decode the list as a whole: they copy it, and then hold all
// objects of a page with all their fields at once. Here each object is found where
// it lies.
func readWire(body []byte) (wireList, error) {
	var list wireList
	var raw []byte
	err := walk(body[len(wireMagic):], func(n protowire.Number, value []byte) error {
		switch n {
		case envelopeRaw:
			raw = value
		case envelopeEncoding:
			if len(value) > 0 {
				return fmt.Errorf("the answer is in encoding %q", value)
			}
		}
		return nil
	})
	if err != nil {
		return wireList{}, err
	}
	err = walk(raw, func(n protowire.Number, value []byte) error {
		switch n {
		case listMetadata:
			list.remaining = remaining(value)
			return walk(value, list.meta)
		case listItems:
			list.items = append(list.items, value)
		}
		return nil
	})
	return list, err
}

func (l *wireList) meta(n protowire.Number, value []byte) error {
	switch n {
	case metaVersion:
		l.version = string(value)
	case metaContinue:
		l.next = string(value)
	}
	return nil
}

// remaining returns how many objects are on later pages.
func remaining(meta []byte) int {
	for len(meta) > 0 {
		number, kind, n := protowire.ConsumeTag(meta)
		if n < 0 {
			return 0
		}
		value := protowire.ConsumeFieldValue(number, kind, meta[n:])
		if value < 0 {
			return 0
		}
		if number == metaRemaining && kind == protowire.VarintType {
			count, _ := protowire.ConsumeVarint(meta[n:])
			return int(min(count, math.MaxInt32))
		}
		meta = meta[n+value:]
	}
	return 0
}

// walk calls a function for each field of a message that holds bytes: a text or
// another message.
func walk(message []byte, found func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errGarbled
		}
		message = message[n:]
		if kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return errGarbled
			}
			if err := found(number, value); err != nil {
				return err
			}
			message = message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return errGarbled
		}
		message = message[n:]
	}
	return nil
}

package kube

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// wireFields are those of a message that are decoded. The zero value stands for all.
//
// Most of an object is of no use here: a pod's containers, who manages which
// field. Decoded, it would be most of the work and nearly all of the garbage. A
// test holds facts made of these fields alone against those of the whole object,
// so that a field which a fact comes to need is not forgotten.
type wireFields []field

type field struct {
	number protowire.Number
	of     wireFields // of the message that is in it
}

// The fields of metadata, without and with those that say who wrote what when.
func metaField(more ...field) field {
	return field{1, append(wireFields{
		{number: 1}, {number: 3}, // name, namespace
		{number: 7}, {number: 8}, {number: 9}, // generation, creation, deletion
		{number: 11}, {number: 12}, {number: 13}, // labels, annotations, owners
	}, more...)}
}

func managedFields() field { return field{number: 17} }

// podTemplate is a template of pods: its labels, and whether they are in the
// host's network.
func podTemplate(number protowire.Number) field {
	return field{number, wireFields{{1, wireFields{{number: 11}}}, {2, wireFields{{number: 11}}}}}
}

func namespaceFields() wireFields {
	return wireFields{metaField(), {3, wireFields{{number: 1}}}} // status.phase
}

func podFields() wireFields {
	return wireFields{metaField(), {2, wireFields{{number: 11}}}, {3, wireFields{{number: 1}}}} // spec.hostNetwork, status.phase
}

// templateFields are those of a kind whose spec holds a template.
func templateFields(number protowire.Number) wireFields {
	return wireFields{metaField(), {2, wireFields{podTemplate(number)}}}
}

func jobFields() wireFields {
	return wireFields{metaField(field{number: 5}), {2, wireFields{podTemplate(6)}}, {3, wireFields{{number: 1}}}} // uid, status.conditions
}

func cronJobFields() wireFields {
	return wireFields{metaField(), {2, wireFields{{5, wireFields{{2, wireFields{podTemplate(6)}}}}}}} // spec.jobTemplate.spec
}

// specFields are the whole spec, and metadata with what is given.
func specFields(more ...field) wireFields {
	return wireFields{metaField(more...), {number: 2}}
}

// appendTo adds to a buffer what there is of the fields in a message.
func (f wireFields) appendTo(buf, message []byte) ([]byte, error) {
	if f == nil {
		return append(buf, message...), nil
	}
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return buf, errGarbled
		}
		value := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if value < 0 {
			return buf, errGarbled
		}
		whole := message[:tag+value]
		message = message[tag+value:]
		i := slices.IndexFunc(f, func(f field) bool { return f.number == number })
		switch {
		case i < 0:
		case f[i].of == nil || kind != protowire.BytesType:
			buf = append(buf, whole...)
		default:
			inner, _ := protowire.ConsumeBytes(whole[tag:])
			var err error
			if buf, err = f[i].of.appendMessage(append(buf, whole[:tag]...), inner); err != nil {
				return buf, err
			}
		}
	}
	return buf, nil
}

// appendMessage adds what there is of the fields in a message, and before it how
// long it is.
func (f wireFields) appendMessage(buf, message []byte) ([]byte, error) {
	start := len(buf)
	buf, err := f.appendTo(buf, message)
	if err != nil {
		return buf, err
	}
	size := len(buf) - start
	prefix := protowire.SizeVarint(uint64(size))
	for range prefix {
		buf = append(buf, 0)
	}
	copy(buf[start+prefix:], buf[start:start+size])
	protowire.AppendVarint(buf[:start], uint64(size))
	return buf, nil
}

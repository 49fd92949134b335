package source

import (
	"bufio"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// objectType is a pointer to an object that decodes itself from protobuf.
type objectType[T any] interface {
	*T
	Unmarshal([]byte) error
}

// typed turns the objects of a kind with a typed client into facts.
type typed[O any, P objectType[O]] struct {
	client   rest.Interface
	ingester *ingest.Ingester
	kind     snapshot.Kind
	fields   fieldSet
	// hosts are the paths of the fields that hold a host each. An object with too many is
	// not decoded.
	hosts [][]protowire.Number
	facts sink[O]
}

// sink adds the facts of an object. grow makes room for those of a number of objects.
type sink[O any] struct {
	add  func(*snapshot.Facts, *O)
	grow func(*snapshot.Facts, int)
}

// one returns the sink of a kind whose objects are one fact each: place returns the
// list that it is added to.
func one[O, F any](fact func(*O) F, place func(*snapshot.Facts) *[]F) sink[O] {
	return sink[O]{
		add: func(f *snapshot.Facts, o *O) {
			to := place(f)
			*to = append(*to, fact(o))
		},
		grow: func(f *snapshot.Facts, n int) {
			to := place(f)
			*to = slices.Grow(*to, n)
		},
	}
}

// list returns how the kind is listed. It asks for protobuf as the typed clients do,
// and accepts JSON, which a server may send instead.
func (t typed[O, P]) list() kube.List[snapshot.Facts] {
	request := func(opts metav1.ListOptions) *rest.Request {
		return t.client.Get().UseProtobufAsDefaultIfPreferred(true).Resource(t.kind.Resource()).
			VersionedParams(&opts, scheme.ParameterCodec)
	}
	read := func(body *bufio.Reader, p *kube.Page, f *snapshot.Facts) error {
		if kube.IsProtobuf(body) {
			return t.protobuf(body, p, f)
		}
		return t.json(body, p, f)
	}
	return kube.List[snapshot.Facts]{Kind: t.object() + "List", Request: request, Read: read}
}

// protobuf reads a page of protobuf.
func (t typed[O, P]) protobuf(body *bufio.Reader, p *kube.Page, f *snapshot.Facts) error {
	var lean []byte
	expect := func(objects int) {
		if t.facts.grow != nil {
			t.facts.grow(f, objects)
		}
	}
	return kube.ReadProtobuf(body, p, expect, func(item []byte) error {
		t.take(f, func() error {
			var o O
			var err error
			if err = t.ingester.CheckHosts(t.countHosts(item)); err != nil {
				return err
			}
			if lean, err = t.fields.appendTo(lean[:0], item); err == nil {
				err = P(&o).Unmarshal(lean)
			}
			if err != nil {
				return err
			}
			t.facts.add(f, &o)
			return nil
		}, func(err error) snapshot.Fault {
			namespace, name := nameIn(item)
			return ingest.NewFault(t.kind, t.object(), namespace, name, err)
		})
		return nil
	})
}

// take adds the facts of an object, or its fault if it can't be read.
func (t typed[O, P]) take(f *snapshot.Facts, add func() error, fault func(error) snapshot.Fault) {
	if err := t.ingester.Add(f, add); err != nil {
		ingest.AddFault(f, fault(fmt.Errorf("decode %s: %w", t.object(), err)))
	}
}

// object is the kind as its objects spell it.
func (t typed[O, P]) object() string { return reflect.TypeFor[O]().Name() }

// json reads a page of JSON.
func (t typed[O, P]) json(body *bufio.Reader, p *kube.Page, f *snapshot.Facts) error {
	return kube.ReadJSON(body, p, func(item json.RawMessage) error {
		t.take(f, func() error {
			var o O
			if err := kjson.UnmarshalCaseSensitivePreserveInts(item, &o); err != nil {
				return err
			}
			t.facts.add(f, &o)
			return nil
		}, func(err error) snapshot.Fault { return ingest.FaultOf(t.kind, t.object(), item, err) })
		return nil
	})
}

// countHosts returns how many hosts an object has.
func (t typed[O, P]) countHosts(object []byte) int {
	n := 0
	for _, path := range t.hosts {
		n += count(object, path)
	}
	return n
}

// count returns how many fields a message has at a path.
func count(message []byte, path []protowire.Number) int {
	n := 0
	texts(message, func(number protowire.Number, value []byte) {
		switch {
		case number != path[0]:
		case len(path) == 1:
			n++
		default:
			n += count(value, path[1:])
		}
	})
	return n
}

// texts calls a function for the fields of a message that hold texts or messages, as far
// as it can be read.
func texts(message []byte, found func(protowire.Number, []byte)) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[tag : tag+size])
			found(number, value)
		}
		message = message[tag+size:]
	}
}

// nameIn returns the namespace and the name in an object, as far as they can be read.
func nameIn(object []byte) (namespace, name string) {
	texts(object, func(n protowire.Number, metadata []byte) {
		if n != 1 {
			return
		}
		texts(metadata, func(n protowire.Number, value []byte) {
			switch n {
			case 1:
				name = string(value)
			case 3:
				namespace = string(value)
			}
		})
	})
	return namespace, name
}

// fieldSet is the set of fields of a message that are decoded. Nil means all.
//
// Facts need little of an object: not a pod's containers, nor who manages which field.
// Decoding those would be most of the work and nearly all of the garbage. A test
// compares facts made from these fields alone with facts made from the whole object,
// so that no field that a fact needs can be missing here.
type fieldSet []field

type field struct {
	number protowire.Number
	of     fieldSet // of the message in this field
}

// appendTo appends those fields of a message to a buffer.
func (f fieldSet) appendTo(buf, message []byte) ([]byte, error) {
	if f == nil {
		return append(buf, message...), nil
	}
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return buf, kube.ErrMalformed
		}
		value := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if value < 0 {
			return buf, kube.ErrMalformed
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

// appendMessage appends those fields of a message, preceded by their length.
func (f fieldSet) appendMessage(buf, message []byte) ([]byte, error) {
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

package kube

import (
	"bufio"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// resource says how one kind is read.
type resource struct {
	kind    snapshot.Kind
	version string
	// everywhere is true of a kind that every API server serves: whoever
	// answers 404 for it is none.
	everywhere bool
	// open says how it is listed in one read; the ingester is for it alone.
	open func(*Source, *ingest.Ingester) list
}

// objectType is a pointer to an object that decodes itself from protobuf.
type objectType[T any] interface {
	*T
	Unmarshal([]byte) error
}

// typed is how objects of a typed client's kind become facts.
type typed[O any, P objectType[O]] struct {
	client rest.Interface
	kind   snapshot.Kind
	fields wireFields
	facts  sink[O]
}

// sink adds the facts of an object, and makes room for those of some.
type sink[O any] struct {
	add  func(*snapshot.Facts, *O)
	grow func(*snapshot.Facts, int)
}

// one makes the sink of a kind of which each object is one fact: place says where
// among the facts it goes.
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

// maxRoom bounds the room made at once for what a server says is yet to come.
const maxRoom = 1 << 18

// list returns how the kind is listed. It asks for protobuf as the typed clients do,
// and takes JSON, which a server may send instead.
func (t typed[O, P]) list() list {
	request := func(opts metav1.ListOptions) *rest.Request {
		return t.client.Get().UseProtobufAsDefaultIfPreferred(true).Resource(t.kind.Resource()).
			VersionedParams(&opts, scheme.ParameterCodec)
	}
	return list{kind: reflect.TypeFor[O]().Name() + "List", request: request, read: func(body *bufio.Reader, p *page) error {
		if isWire(body) {
			return t.wire(body, p)
		}
		return t.json(body, p)
	}}
}

// wire reads a page of protobuf. Its objects are decoded one at a time.
func (t typed[O, P]) wire(body *bufio.Reader, p *page) error {
	var lean []byte
	return wireList{kind: p.kind, head: func(m wireMeta, bytes int64) error {
		if t.facts.grow != nil && m.next != "" {
			t.facts.grow(p.facts, int(p.opts.Limit)+min(m.remaining, maxRoom))
		}
		return p.head(m.version, m.next, bytes)
	}, item: func(item []byte) error {
		p.items++
		var o O
		var err error
		if lean, err = t.fields.appendTo(lean[:0], item); err == nil {
			err = P(&o).Unmarshal(lean)
		}
		if err != nil {
			return &objectError{fmt.Errorf("decode %s: %w", t.kind, err)}
		}
		t.facts.add(p.facts, &o)
		return nil
	}, long: p.scratch}.read(body)
}

// json reads a page of JSON. Its objects are decoded one at a time, too.
func (t typed[O, P]) json(body *bufio.Reader, p *page) error {
	return readJSON(body, p, func(item json.RawMessage) error {
		var o O
		if err := kjson.UnmarshalCaseSensitivePreserveInts(item, &o); err != nil {
			return &objectError{fmt.Errorf("decode %s: %w", t.kind, err)}
		}
		t.facts.add(p.facts, &o)
		return nil
	})
}

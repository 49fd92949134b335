package kube

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

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
	// open returns the fetch of one read; the ingester is for it alone.
	open func(*Source, *ingest.Ingester) fetch
}

// listType is a pointer to a list of a typed client.
type listType[T any] interface {
	*T
	runtime.Object
	metav1.ListInterface
}

// objectType is a pointer to an object that decodes itself from protobuf.
type objectType[T any] interface {
	*T
	Unmarshal([]byte) error
}

// typed is how objects of a typed client's kind become facts: items opens the list.
type typed[T, O any, L listType[T], P objectType[O]] struct {
	client rest.Interface
	kind   snapshot.Kind
	fields wireFields
	items  func(L) []O
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

// fetch returns the fetch of the kind. It asks for protobuf as the typed clients
// do, and takes JSON, which a server may send instead.
func (t typed[T, O, L, P]) fetch() fetch {
	// One body is taken in while the next arrives.
	bodies := make(chan *bytes.Buffer, 2)
	return func(ctx context.Context, opts metav1.ListOptions) (page, error) {
		var body *bytes.Buffer
		select {
		case body = <-bodies:
		default:
			body = new(bytes.Buffer)
		}
		p, err := t.page(ctx, opts, body)
		if err != nil {
			bodies <- body
			return page{}, err
		}
		take := p.take
		p.take = func(into *snapshot.Facts) error {
			// Facts hold no part of it.
			defer func() { bodies <- body }()
			return take(into)
		}
		return p, nil
	}
}

// page asks for a page, of which nothing but its body is kept.
func (t typed[T, O, L, P]) page(ctx context.Context, opts metav1.ListOptions, body *bytes.Buffer) (page, error) {
	request := t.client.Get().UseProtobufAsDefaultIfPreferred(true).Resource(t.kind.Resource()).
		VersionedParams(&opts, scheme.ParameterCodec)
	if err := stream(ctx, request, body); err != nil {
		return page{}, err
	}
	if bytes.HasPrefix(body.Bytes(), []byte(wireMagic)) {
		return t.wire(body.Bytes())
	}
	return t.decoded(body.Bytes())
}

// wire returns a page of protobuf. Its objects are decoded one at a time.
func (t typed[T, O, L, P]) wire(body []byte) (page, error) {
	list, err := readWire(body)
	if err != nil {
		return page{}, fmt.Errorf("decode list: %w", err)
	}
	if list.version == "" {
		return page{}, errNoList
	}
	return page{items: len(list.items), next: list.next, take: func(into *snapshot.Facts) error {
		if t.facts.grow != nil {
			t.facts.grow(into, len(list.items)+min(list.remaining, maxRoom))
		}
		var lean []byte
		for _, item := range list.items {
			var o O
			var err error
			if lean, err = t.fields.appendTo(lean[:0], item); err == nil {
				err = P(&o).Unmarshal(lean)
			}
			if err != nil {
				return &objectError{fmt.Errorf("decode %s: %w", t.kind, err)}
			}
			t.facts.add(into, &o)
		}
		return nil
	}}, nil
}

// decoded returns a page of whatever else the typed clients decode.
func (t typed[T, O, L, P]) decoded(body []byte) (page, error) {
	list := L(new(T))
	answer, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, list)
	if err == nil {
		err = refused(answer)
	}
	if err != nil {
		return page{}, err
	}
	// An empty JSON object decodes as an empty list. Taken for one, it would say
	// that the cluster has no such objects.
	if list.GetResourceVersion() == "" {
		return page{}, errNoList
	}
	objects := t.items(list)
	return page{items: len(objects), next: list.GetContinue(), take: func(into *snapshot.Facts) error {
		for i := range objects {
			t.facts.add(into, &objects[i])
		}
		return nil
	}}, nil
}

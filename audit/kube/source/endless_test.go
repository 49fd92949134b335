package source_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// endless is a page of objects that are all the same, made while it is read.
type endless struct {
	ahead io.Reader
	item  []byte
	left  int
	each  func() // called now and then; none where it is nil
}

func newEndless(t testing.TB, next string, size, objects int) *endless {
	t.Helper()
	o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", Annotations: map[string]string{"filling": strings.Repeat("x", size)},
	}}
	object, err := o.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	meta := field(1, append(field(2, []byte("7")), field(3, []byte(next))...))
	item := field(2, object)
	head := protowire.AppendTag([]byte("k8s\x00"), 2, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(meta)+objects*len(item)))
	return &endless{ahead: bytes.NewReader(append(head, meta...)), item: item, left: objects}
}

func (e *endless) Read(p []byte) (int, error) {
	for {
		n, err := e.ahead.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) || e.left == 0 {
			return n, err
		}
		if e.left--; e.each != nil && e.left%100 == 0 {
			e.each()
		}
		e.ahead = bytes.NewReader(e.item)
	}
}

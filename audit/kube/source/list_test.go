package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// overload is a server that fails to send pages with too many objects.
type overload struct {
	bears  int
	mu     sync.Mutex
	limits []int
}

func (o *overload) RoundTrip(r *http.Request) (*http.Response, error) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limits = append(o.limits, limit)
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	const all = 3000
	answer := &http.Response{StatusCode: http.StatusGatewayTimeout, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
	if limit > o.bears && from > 0 {
		return answer, nil
	}
	var names []string
	for i := from; i < min(from+limit, all); i++ {
		names = append(names, fmt.Sprint("i", i))
	}
	next := ""
	if from+limit < all {
		next = strconv.Itoa(from + limit)
	}
	answer.StatusCode, answer.Body = http.StatusOK, io.NopCloser(bytes.NewReader(ingressPageOf(next, names)))
	return answer, nil
}

// ingressPageOf is a page of small objects in JSON.
func ingressPageOf(next string, names []string) []byte {
	var items []string
	for _, name := range names {
		items = append(items, `{"metadata":{"namespace":"shop","name":"`+name+`"}}`)
	}
	return []byte(`{"kind":"IngressList","metadata":{"resourceVersion":"7","continue":"` + next + `"},"items":[` + strings.Join(items, ",") + `]}`)
}

// A page that a server fails to send may succeed at half the size.
func TestPagesThatAreTooLargeAreHalved(t *testing.T) {
	server := &overload{bears: 300}
	source, err := source.New(&rest.Config{Host: "http://127.0.0.1:1", Transport: server}, source.Options{Sleep: func(context.Context, time.Duration) {}})
	if err != nil {
		t.Fatal(err)
	}
	s := read(t, source, ingresses)
	if r := s.Reads()[0]; r.Status != snapshot.Listed || r.Items != 3000 || len(ingressNames(s)) != 3000 {
		t.Errorf("read %+v, by pages of %d", r, server.limits)
	}
	if largest := slices.Max(server.limits[len(server.limits)-3:]); largest > server.bears {
		t.Errorf("the last pages are asked for by %d", largest)
	}
}

// A server may send page after page without end.
func TestPagesWithoutEnd(t *testing.T) {
	for name, next := range map[string]func(q url.Values, n int) (string, []string){
		"two that name each other": func(q url.Values, _ int) (string, []string) {
			return map[string]string{"": "a", "a": "b", "b": "a"}[q.Get("continue")], []string{"x"}
		},
		"one after the other without an object": func(_ url.Values, n int) (string, []string) { return strconv.Itoa(n), nil },
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64 // what is given up may still be on its way
			s := readFrom(t, func(q url.Values) io.Reader {
				token, names := next(q, int(requests.Add(1)))
				return bytes.NewReader(ingressPage(t, token, 0, names...))
			})
			if r := s.Reads()[0]; r.Status != snapshot.Failed || len(ingressNames(s)) > 0 || requests.Load() > 200 {
				t.Errorf("after %d requests: %+v", requests.Load(), r)
			}
		})
	}
}

// The client does not wait for the end of a rejected response, which may never come.
func TestRejectedResponseIsNotReadToItsEnd(t *testing.T) {
	var requests atomic.Int64
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":{}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	s := read(t, newSource(t, cfg, source.Options{}), ingresses)
	if r := s.Reads()[0]; r.Status != snapshot.Failed || requests.Load() != 5 {
		t.Errorf("after %d requests: %+v", requests.Load(), r)
	}
}

// endless is a page of identical objects, made while it is read.
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

// answering responds to a request for a page with the contents of a reader.
type answering func(url.Values) io.Reader

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(a(r.URL.Query())),
		Header: http.Header{"Content-Type": {k8sruntime.ContentTypeProtobuf}},
	}, nil
}

// readFrom reads Ingresses in pages of the default size.
func readFrom(t testing.TB, answers answering) *snapshot.Snapshot {
	t.Helper()
	source, err := source.New(&rest.Config{Host: "http://127.0.0.1:1", Transport: answers}, source.Options{Sleep: func(context.Context, time.Duration) {}})
	if err != nil {
		t.Fatal(err)
	}
	var b snapshot.Builder
	if _, err := source.Read(t.Context(), ingresses, &b); err != nil {
		t.Fatal(err)
	}
	return b.Freeze()
}

// ingressPage is a page of protobuf, with Ingresses of the given names and of about the
// given size.
func ingressPage(t testing.TB, next string, size int, names ...string) []byte {
	t.Helper()
	list := &networkingv1.IngressList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: next}}
	for _, name := range names {
		list.Items = append(list.Items, networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Annotations: map[string]string{"filling": strings.Repeat("x", size)},
		}})
	}
	return encode(t, list, k8sruntime.ContentTypeProtobuf)
}

// If a response ends early, nothing of it counts: a part of a list must not look like
// the list.
func TestTruncatedProtobufIsNotAList(t *testing.T) {
	whole := ingressPage(t, "", 10, "a", "b", "c")
	want := []string{"a", "b", "c"}
	for n := range whole {
		for _, err := range []error{io.EOF, io.ErrUnexpectedEOF} {
			s := readFrom(t, func(url.Values) io.Reader {
				return io.MultiReader(bytes.NewReader(whole[:n]), broken{err})
			})
			read, names := s.Reads()[0], ingressNames(s)
			switch {
			case read.Status == snapshot.Failed && len(names) == 0 && read.Items == 0:
			// The bytes after the list are not part of it, but a response that ends early
			// there is not complete.
			case read.Status == snapshot.Listed && slices.Equal(names, want) && errors.Is(err, io.EOF):
			default:
				t.Errorf("cut after %d of %d bytes by %v: %+v with %v", n, len(whole), err, read, names)
			}
		}
	}
}

// broken is a connection that fails in some way.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// The next page, requested while a page is read, is of that page's state. If the page
// is requested again, its state may be a later one.
func TestNextPageOfAFailedTryIsDropped(t *testing.T) {
	for _, next := range []string{"of the second state", ""} {
		var tries atomic.Int64
		s := readFrom(t, func(q url.Values) io.Reader {
			switch q.Get("continue") {
			case "of the first state":
				return bytes.NewReader(ingressPage(t, "", 0, "gone"))
			case "of the second state":
				return bytes.NewReader(ingressPage(t, "", 0, "c", "d"))
			}
			if tries.Add(1) > 1 {
				return bytes.NewReader(ingressPage(t, next, 0, "a", "b"))
			}
			page := ingressPage(t, "of the first state", 0, "gone-too", "b")
			return io.MultiReader(bytes.NewReader(page[:len(page)-20]), broken{io.ErrUnexpectedEOF})
		})
		want := []string{"a", "b", "c", "d"}
		if next == "" {
			want = want[:2]
		}
		if diff := cmp.Diff(want, ingressNames(s)); diff != "" || tries.Load() != 2 {
			t.Errorf("after %d tries (-want +got):\n%s", tries.Load(), diff)
		}
	}
}

// Small objects are requested in large pages and large ones in small pages.
func TestSizeOfPages(t *testing.T) {
	for _, c := range []struct {
		says   string
		size   int // of an object
		limits []string
	}{
		{"a page of small objects is followed by one with the most objects", 10, []string{"500", "2000", "4000"}},
		{"one of common objects by as many as make a few MiB", 2000, []string{"500", "2000", "2045"}},
		{"one of large objects by few", 40_000, []string{"500", "104", "104"}},
		{"one of the largest objects by the fewest", 1_000_000, []string{"500", "50", "50"}},
	} {
		t.Run(c.says, func(t *testing.T) {
			var limits []string
			readFrom(t, func(q url.Values) io.Reader {
				limits = append(limits, q.Get("limit"))
				n, _ := strconv.Atoi(q.Get("limit"))
				next := strconv.Itoa(len(limits))
				if len(limits) == 3 {
					next = ""
				}
				return newEndless(t, next, c.size, n)
			})
			if diff := cmp.Diff(c.limits, limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

// A page is never in memory as a whole, however large its objects are.
func TestPageIsDecodedAsItArrives(t *testing.T) {
	const objects, size = 500, 1_000_000
	var most uint64
	answer := newEndless(t, "", size, objects)
	answer.each = func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	s := readFrom(t, func(url.Values) io.Reader { return answer })
	if r := s.Reads()[0]; r.Status != snapshot.Listed || r.Items != objects {
		t.Errorf("read %+v", r)
	}
	if most > 60<<20 {
		t.Errorf("%d MiB were in memory of a page of %d MiB", most>>20, objects*size>>20)
	}
}

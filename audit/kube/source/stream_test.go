package source_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// answering answers a request for a page with what comes out of a reader.
type answering func(url.Values) io.Reader

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(a(r.URL.Query())),
		Header: http.Header{"Content-Type": {k8sruntime.ContentTypeProtobuf}},
	}, nil
}

// readFrom reads Ingresses by pages of the size that a source takes by itself.
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

// ingressPage is a page of protobuf, with Ingresses of the names and with about as
// many bytes in each of them.
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

// Wherever an answer ends before its end, nothing of it counts: a part of a list must
// not look like the list.
func TestAnAnswerThatEndsAnywhereIsNoList(t *testing.T) {
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
			// What stands behind the list is no part of it, but an answer that breaks off
			// there was not the whole one.
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

// What is asked for while a page comes in is of that page's state. Where the page has
// to be asked for again, it may be of a later one.
func TestNothingOfAnEarlierTryIsGoneOnWith(t *testing.T) {
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

// Small objects are asked for in large pages and large ones in small pages.
func TestSizeOfPages(t *testing.T) {
	for _, c := range []struct {
		says   string
		size   int // of an object
		limits []string
	}{
		{"a page of small objects is followed by as many as are asked for at most", 10, []string{"500", "2000", "4000"}},
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
func TestAPageIsTakenInAsItComes(t *testing.T) {
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

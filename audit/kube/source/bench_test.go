package source_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/bench/estate"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// pagesOf serves one list in pages of protobuf, without a network.
type pagesOf [][]byte

func (p pagesOf) RoundTrip(r *http.Request) (*http.Response, error) {
	n, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(p[n])),
		Header: http.Header{"Content-Type": {runtime.ContentTypeProtobuf}},
	}, nil
}

// newPages makes pages of a few hundred objects of an estate.
func newPages(t testing.TB, kind snapshot.Kind, pages int, object func(int) runtime.Object) pagesOf {
	t.Helper()
	var out pagesOf
	for n := range pages {
		list, err := scheme.Scheme.New(typedKinds[kind])
		if err != nil {
			t.Fatal(err)
		}
		var objects []runtime.Object
		for i := range objectsOfPage {
			o := object(n*objectsOfPage + i)
			m, err := meta.Accessor(o)
			if err != nil {
				t.Fatal(err)
			}
			estate.Stamp(m, n*objectsOfPage+i, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
			objects = append(objects, o)
		}
		if err := meta.SetList(list, objects); err != nil {
			t.Fatal(err)
		}
		l := list.(metav1.ListInterface)
		l.SetResourceVersion("7")
		if left := int64(pages-n-1) * objectsOfPage; left > 0 {
			l.SetContinue(strconv.Itoa(n + 1))
			l.SetRemainingItemCount(&left)
		}
		out = append(out, encode(t, list, runtime.ContentTypeProtobuf))
	}
	return out
}

const objectsOfPage = 500

// reads are kinds that are read in pages, with how many allocations each object may take:
// those to decode the needed fields, and those of the fact.
func reads() map[snapshot.Kind]struct {
	object func(int) runtime.Object
	most   float64
} {
	size := estate.Large()
	return map[snapshot.Kind]struct {
		object func(int) runtime.Object
		most   float64
	}{
		snapshot.Namespaces:      {func(i int) runtime.Object { return size.Namespace(i) }, 30},
		snapshot.Ingresses:       {func(i int) runtime.Object { return size.Ingress(i) }, 60},
		snapshot.Deployments:     {func(i int) runtime.Object { return size.Deployment(i) }, 40},
		snapshot.Pods:            {func(i int) runtime.Object { return size.Pod(i) }, 30},
		snapshot.NetworkPolicies: {func(i int) runtime.Object { return size.Policy(i) }, 60},
	}
}

func readAll(t testing.TB, source *source.Source, kind snapshot.Kind, objects int) {
	var b snapshot.Builder
	if _, err := source.Read(t.Context(), []snapshot.Kind{kind}, &b); err != nil {
		t.Fatal(err)
	}
	if read := b.Freeze().Reads()[0]; read.Status != snapshot.Listed || read.Items != objects {
		t.Fatalf("read %+v, want %d objects", read, objects)
	}
}

func sourceOf(t testing.TB, pages pagesOf) *source.Source {
	t.Helper()
	source, err := source.New(&rest.Config{Host: "http://127.0.0.1:1", Transport: pages}, source.Options{OwnerKeys: []string{"owner", "team"}})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// BenchmarkRead reads four pages of a kind.
func BenchmarkRead(b *testing.B) {
	for kind, c := range reads() {
		b.Run(string(kind), func(b *testing.B) {
			const pages = 4
			source := sourceOf(b, newPages(b, kind, pages, c.object))
			b.ReportAllocs()
			for b.Loop() {
				readAll(b, source, kind, pages*objectsOfPage)
			}
			b.ReportMetric(pages*objectsOfPage, "objects/op")
		})
	}
}

func TestAllocationsOfReading(t *testing.T) {
	for kind, c := range reads() {
		t.Run(string(kind), func(t *testing.T) {
			const pages = 2
			source := sourceOf(t, newPages(t, kind, pages, c.object))
			each := testing.AllocsPerRun(3, func() { readAll(t, source, kind, pages*objectsOfPage) }) / (pages * objectsOfPage)
			t.Logf("%.2f allocations for each object", each)
			if each > c.most {
				t.Errorf("%.2f allocations for each object, want at most %.0f", each, c.most)
			}
		})
	}
}

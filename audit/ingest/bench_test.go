package ingest_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/e2e/bench/estate"
)

// BenchmarkIngest turns one decoded object into a fact.
func BenchmarkIngest(b *testing.B) {
	for _, c := range makers() {
		b.Run(c.kind, func(b *testing.B) {
			in, next := newIngester(), 0
			fact := c.objects(1000)
			b.ReportAllocs()
			for b.Loop() {
				fact(in, next%1000)
				next++
			}
		})
	}
}

// A page of objects costs as many allocations as this for each of them, and no more:
// what an object has in common with others is kept once.
func TestAllocationsOfAFact(t *testing.T) {
	for _, c := range makers() {
		t.Run(c.kind, func(t *testing.T) {
			const objects = 500
			fact := c.objects(objects)
			all := testing.AllocsPerRun(3, func() {
				in := newIngester()
				for i := range objects {
					fact(in, i)
				}
			})
			each := all / objects
			t.Logf("%.2f allocations for each object", each)
			if each > c.most {
				t.Errorf("%.2f allocations for each object, want at most %.1f", each, c.most)
			}
		})
	}
}

// maker makes facts of one kind.
type maker struct {
	kind string
	// objects returns what makes the fact of one of n objects.
	objects func(n int) func(*ingest.Ingester, int)
	most    float64 // allocations for one
}

func makers() []maker {
	size := estate.Large()
	born := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return []maker{
		{"Namespace", made(born, size.Namespace, (*ingest.Ingester).Namespace), 2.5},
		{"Ingress", made(born, size.Ingress, (*ingest.Ingester).Ingress), 2.5},
		{"Deployment", made(born, size.Deployment, (*ingest.Ingester).Deployment), 4.5},
		{"Pod", made(born, size.Pod, (*ingest.Ingester).Pod), 3},
		{"NetworkPolicy", made(born, size.Policy, (*ingest.Ingester).NetworkPolicy), 12},
	}
}

// made returns what makes n objects beforehand, and then the fact of one of them.
func made[O any, P interface {
	*O
	metav1.Object
}, F any](born time.Time, object func(int) P, fact func(*ingest.Ingester, P) F) func(int) func(*ingest.Ingester, int) {
	return func(n int) func(*ingest.Ingester, int) {
		objects := make([]P, n)
		for i := range objects {
			objects[i] = object(i)
			estate.Stamp(objects[i], i, born)
		}
		return func(in *ingest.Ingester, i int) { fact(in, objects[i]) }
	}
}

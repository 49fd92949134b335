package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// traffic is what a contender asked the API server for and got.
type traffic struct {
	mu       sync.Mutex
	requests map[string]int // by method and path
	bytes    int64          // of the bodies of answers, as they were sent
}

// watch counts what a contender asks for in one run, which is not timed: the proxy
// that counts takes time itself.
func watch(ctx context.Context, cluster *kubetest.Cluster, dir string, c contender) (*traffic, error) {
	t := &traffic{requests: map[string]int{}}
	proxy, err := cluster.Proxy(dir, func(r *http.Request) kubetest.Answer {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.requests[r.Method+" "+r.URL.Path]++
		return t.pass
	})
	if err != nil {
		return nil, err
	}
	defer proxy.Close() // its connections are over
	if _, err := c.run(ctx, proxy.Kubeconfig(kubetest.Admin)); err != nil {
		return nil, err
	}
	return t, nil
}

// pass lets the server answer and counts the bytes of the answer.
func (t *traffic) pass(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&countingWriter{w, t}, r)
}

type countingWriter struct {
	http.ResponseWriter
	t *traffic
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	w.t.bytes += int64(n)
	return n, err
}

// Unwrap lets the proxy flush.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (t *traffic) total() int {
	n := 0
	for _, count := range t.requests {
		n += count
	}
	return n
}

// beside returns the requests that one makes more or less often than the other,
// sorted.
func (t *traffic) beside(other *traffic) []string {
	all := maps.Clone(t.requests)
	maps.Copy(all, other.requests)
	var out []string
	for _, request := range slices.Sorted(maps.Keys(all)) {
		if n := t.requests[request] - other.requests[request]; n != 0 {
			out = append(out, fmt.Sprintf("%+d %s", n, request))
		}
	}
	return out
}

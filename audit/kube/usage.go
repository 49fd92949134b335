package kube

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// Usage counts what was requested from an API server.
type Usage struct {
	// Requests counts the requests that were sent, each try separately.
	Requests int64
	// Retries counts the requests among them that were sent again, by this package or
	// by client-go.
	Retries int64
	// Bytes counts the bytes of the responses, uncompressed.
	Bytes int64
}

// Plus returns the sum.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.Requests + o.Requests, u.Retries + o.Retries, u.Bytes + o.Bytes}
}

// Minus returns what was used since an earlier reading.
func (u Usage) Minus(earlier Usage) Usage {
	return Usage{u.Requests - earlier.Requests, u.Retries - earlier.Retries, u.Bytes - earlier.Bytes}
}

// meter counts what a client requests.
type meter struct{ requests, retries, bytes atomic.Int64 }

func (m *meter) read() Usage {
	return Usage{m.requests.Load(), m.retries.Load(), m.bytes.Load()}
}

// tries are the requests that were sent for one purpose. One that is sent twice
// is a retry, even if client-go sent it.
type tries struct {
	mu   sync.Mutex
	sent map[string]bool
}

// triesKey is where a context holds its tries.
type triesKey struct{}

// begin returns a context for the requests that serve one purpose.
func (m *meter) begin(ctx context.Context) context.Context {
	return context.WithValue(ctx, triesKey{}, &tries{sent: map[string]bool{}})
}

// again reports whether the same request was sent before.
func (t *tries) again(r *http.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := r.Method + " " + r.URL.String()
	before := t.sent[key]
	t.sent[key] = true
	return before
}

// watch returns a transport that counts.
func (m *meter) watch(next http.RoundTripper) http.RoundTripper { return metered{m, next} }

type metered struct {
	meter *meter
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (m metered) RoundTrip(r *http.Request) (*http.Response, error) {
	m.meter.requests.Add(1)
	if t, ok := r.Context().Value(triesKey{}).(*tries); ok && t.again(r) {
		m.meter.retries.Add(1)
	}
	response, err := m.next.RoundTrip(r)
	if err == nil {
		response.Body = countedBody{response.Body, m.meter}
	}
	return response, err
}

// countedBody counts the bytes that are read of it.
type countedBody struct {
	io.ReadCloser
	meter *meter
}

// Read implements io.Reader.
func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.meter.bytes.Add(int64(n))
	return n, err
}

// maxUnread is how much of a response is read that nothing wants.
const maxUnread = 64 << 10

// Close implements io.Closer. It reads the rest of the response, such as that of an
// error, which client-go does not always read: it was sent, and the connection can be
// used again.
func (b countedBody) Close() error {
	_, _ = io.CopyN(io.Discard, b, maxUnread) // an error does not matter in an unwanted body
	return b.ReadCloser.Close()
}

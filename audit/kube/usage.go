package kube

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// Usage is what was asked of an API server.
type Usage struct {
	// Requests counts the requests that were sent, each try for itself.
	Requests int64
	// Retries counts those among them that were sent again, by this package or by
	// client-go.
	Retries int64
	// Bytes counts the bytes of the answers, uncompressed.
	Bytes int64
}

// Plus returns what was used together.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.Requests + o.Requests, u.Retries + o.Retries, u.Bytes + o.Bytes}
}

// Minus returns what was used since an earlier time.
func (u Usage) Minus(earlier Usage) Usage {
	return Usage{u.Requests - earlier.Requests, u.Retries - earlier.Retries, u.Bytes - earlier.Bytes}
}

// Usage returns what the source has asked for since it was made.
func (s *Source) Usage() Usage { return s.usage.read() }

// Usage returns what the store has asked for since it was made.
func (s *Store) Usage() Usage { return s.conn.usage.read() }

// Usage returns what the recorder has asked for since it was made.
func (e *Events) Usage() Usage { return e.conn.usage.read() }

// Usage returns what the lease has asked for since it was made. It counts no
// retries: that a lease is asked for again and again is how a lease works.
func (l *Lease) Usage() Usage { return l.usage.read() }

// meter counts what a client asks for.
type meter struct{ requests, retries, bytes atomic.Int64 }

func (m *meter) read() Usage {
	return Usage{m.requests.Load(), m.retries.Load(), m.bytes.Load()}
}

// tries are the requests that were sent for one purpose. One that is sent twice
// is a retry, whoever sent it.
type tries struct {
	mu   sync.Mutex
	sent map[string]bool
}

// triesKey is where a context holds its tries.
type triesKey struct{}

// begin returns a context for whatever requests serve one purpose.
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
	answer, err := m.next.RoundTrip(r)
	if err == nil {
		answer.Body = countedBody{answer.Body, m.meter}
	}
	return answer, err
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

// maxRest is how much of an answer is read that nobody wanted.
const maxRest = 64 << 10

// Close implements io.Closer. What is left of a refusal, which client-go does not
// always read, is read: it was sent, and the connection can be used again.
func (b countedBody) Close() error {
	// An error is one of what nobody wanted.
	_, _ = io.CopyN(io.Discard, b, maxRest)
	return b.ReadCloser.Close()
}

package slack_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// latency is how long Slack takes for an answer.
const latency = 50 * time.Millisecond

// wire is a network with a Slack at its end. The connections are pipes, so that
// inside a bubble of testing/synctest time goes on while everybody waits, and does
// not while anything is on its way: HTTP, its timeouts and the pace of Slack are the
// real ones, and hours of them take no time.
type wire struct {
	accept chan net.Conn
	closed chan struct{}

	mu   sync.Mutex
	down bool
}

// newWire serves a workspace until the test ends, and returns what carries requests
// to it.
func newWire(t *testing.T, slackd *fakeslack.Server) (*wire, *http.Transport) {
	t.Helper()
	w := &wire{accept: make(chan net.Conn), closed: make(chan struct{})}
	h := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		slackd.ServeHTTP(rw, r)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Serve(w) }()
	carrier := &http.Transport{DialContext: w.dial, MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		carrier.CloseIdleConnections()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return w, carrier
}

// cut makes the host refuse connections, or take them again.
func (w *wire) cut(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	near, far := net.Pipe()
	select {
	case w.accept <- far:
		return near, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept is of net.Listener, as are the others.
func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.accept:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	close(w.closed)
	return nil
}

func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "slack", Net: "pipe"} }

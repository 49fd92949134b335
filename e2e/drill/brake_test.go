package drill

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// lag is how much later than the other's the writes of the slow publisher arrive.
const lag = 15 * time.Millisecond

// brake slows a publisher down: its every second write comes late, so that the two
// get in between each other's, and when the brake is pulled it stops between reading
// and publishing.
type brake struct {
	writes  atomic.Int64
	mu      sync.Mutex
	pulled  bool
	reached chan struct{}
	release chan struct{}
}

// pull stops the next publishing until release is called. The channel is closed
// once it has stopped.
func (b *brake) pull() (reached <-chan struct{}, release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pulled, b.reached, b.release = true, make(chan struct{}), make(chan struct{})
	return b.reached, sync.OnceFunc(func() { close(b.release) })
}

func (b *brake) decide(r *http.Request) kubetest.Answer {
	// To publish begins with the lease, or without one with what is stored.
	if !strings.Contains(r.URL.Path, "/namespaces/"+home+"/") {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pulled {
		b.pulled = false
		close(b.reached)
		return held(b.release)
	}
	if writes(r) && strings.Contains(r.URL.Path, "/findings") && b.writes.Add(1)%2 == 0 {
		return late
	}
	return nil
}

func late(w http.ResponseWriter, r *http.Request, next http.Handler) {
	time.Sleep(lag)
	next.ServeHTTP(w, r)
}

// held answers a request once it is let go of.
func held(release <-chan struct{}) kubetest.Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-release:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
}

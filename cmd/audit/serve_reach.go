package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// reach remembers whether a server gave an answer when it was last asked. A
// process that stands by asks for the Lease and for nothing else, so this is all
// it knows of the server; the lease itself only tells when it is over.
type reach struct {
	mu   sync.Mutex
	last error
}

// watch returns a transport that remembers how its requests end.
func (r *reach) watch(next http.RoundTripper) http.RoundTripper { return watched{r, next} }

// failure returns why the server could not be reached when it was last asked,
// nil if it could.
func (r *reach) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *reach) remember(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = err
}

// errUnreached says no more, since whoever can ask for the health may read it.
var errUnreached = errors.New("the API server cannot be reached")

type watched struct {
	reach *reach
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(r)
	switch {
	case err != nil:
		w.reach.remember(errUnreached)
	case answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests:
		w.reach.remember(fmt.Errorf("the API server answers %d", answer.StatusCode))
	default:
		w.reach.remember(nil)
	}
	return answer, err
}

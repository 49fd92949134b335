package lease_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/lease"
)

func TestLeaseWithImpossibleTimes(t *testing.T) {
	for name, opts := range map[string]lease.Options{
		"renewed for longer than it lasts":   {Duration: time.Second, Renew: 2 * time.Second, Retry: 100 * time.Millisecond},
		"renewed less often than it must be": {Renew: time.Second},
		"renewed without a pause":            {Retry: -1},
	} {
		if _, err := lease.New(&rest.Config{}, home, "audit", opts); err == nil {
			t.Errorf("a lease %s is made", name)
		}
	}
}

func TestLeaseWithoutRandomness(t *testing.T) {
	l, err := lease.New(&rest.Config{}, home, "audit", lease.Options{Random: strings.NewReader("")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), time.Second); err == nil {
		t.Error("it is acquired under a name that may be another's")
	}
}

func TestForbiddenLeaseIsNotWaitedFor(t *testing.T) {
	cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	}))
	_, err := newLease(t, cfg, "first").Acquire(t.Context(), time.Hour)
	var held *lease.HeldError
	if err == nil || errors.As(err, &held) {
		t.Errorf("got %v", err)
	}
}

func TestLeaseOnAServerThatHangs(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)
	began := time.Now()
	_, err := newLease(t, &rest.Config{Host: server.URL}, "first").Acquire(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "the server does not respond") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 3*leaseRenew {
		t.Errorf("it took %s", took)
	}
}

package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
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

// leaseServer is an API server that has one lease and nothing else.
type leaseServer struct {
	mu    sync.Mutex
	lease *leaseObject // nil: none
	count int          // the writes so far
}

// ServeHTTP implements http.Handler.
func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet && s.lease == nil {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		return
	}
	if r.Method != http.MethodGet {
		data, _ := io.ReadAll(r.Body)
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.lease = obj.(*leaseObject)
		s.count++
		s.lease.ResourceVersion = strconv.Itoa(s.count)
	}
	s.lease.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	_ = json.NewEncoder(w).Encode(s.lease)
}

func (s *leaseServer) state() (leaseObject, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.lease.DeepCopy(), s.count
}

// After a signal the holder still finishes what it is sending. If it no longer renewed
// the lease, another one would begin meanwhile.
func TestLeaseIsRenewedUntilItIsGivenBack(t *testing.T) {
	api := &leaseServer{}
	ctx, cancel := context.WithCancel(t.Context())
	held := must(newLease(t, serve(t, api), "first").Acquire(ctx, 0))(t)
	cancel()
	if held.Context().Err() == nil {
		t.Error("its context goes on")
	}
	time.Sleep(leaseRenew + leaseRetry)
	if _, n := api.state(); n < 4 {
		t.Errorf("%d writes after the signal", n-1)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if l, _ := api.state(); *l.Spec.HolderIdentity != "" {
		t.Errorf("%q still has it", *l.Spec.HolderIdentity)
	}
}

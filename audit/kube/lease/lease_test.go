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

// Publishers with different configs are found by what they leave on the Lease in the
// writes that they make anyway.
func TestConfigsThatComeInTurnAreContested(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		name   string
		hold   string // the config of each holder
		pause  time.Duration
		later  time.Duration // after the last one
		wanted bool
	}{
		{"one config", "AAAA", time.Minute, 0, false},
		{"a roll-out", "AAABBB", time.Minute, 0, false},
		{"two in turn", "ABA", time.Minute, 0, true},
		{"one of the two is rare", "AAAABA", 10 * time.Minute, 30 * time.Minute, true},
		{"three in turn", "ABCA", time.Minute, 0, true},
		{"two that publish once a day", "ABA", day / 2, 0, true},
		{"rolled back after days", "ABA", 5 * day, 0, false},
		{"an hour after it stopped", "ABAAAA", 20 * time.Minute, time.Minute, false},
		{"long before", "ABABCDEF", time.Minute, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := &leaseServer{}
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			var last lease.History
			writes := 0
			for _, config := range c.hold {
				now = now.Add(c.pause)
				l := must(lease.New(serve(t, api), home, "audit", lease.Options{
					Host: "host", Now: func() time.Time { return now },
					Note: func() lease.Note { return lease.Note{Config: string(config), Delivery: string(config), At: now} },
				}))(t)
				held := must(l.Acquire(t.Context(), 0))(t)
				last = held.History()
				if err := held.Close(); err != nil {
					t.Fatal(err)
				}
				writes += 2
			}
			mine, other, got := last.Contest(now.Add(c.later))
			if got != c.wanted || got && (mine.Config != c.hold[len(c.hold)-1:] && c.later == 0 || mine.Config == other.Config) {
				t.Errorf("contested is %t: %+v and %+v of %+v", got, mine, other, last.Terms)
			}
			if _, n := api.state(); n != writes {
				t.Errorf("%d writes, want %d", n, writes)
			}
			if changed := c.hold != strings.Repeat("A", len(c.hold)); last.DeliverySince.IsZero() == changed {
				t.Errorf("the receivers changed at %s", last.DeliverySince)
			}
		})
	}
}

// What others write there must not keep anyone from publishing.
func TestHistoryThatIsSpoiled(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"terms":[{"config":"B","since":"2999-01-01T00:00:00Z"}]}`, `{"terms":"x"}`} {
		api := &leaseServer{lease: &leaseObject{}}
		api.lease.Name, api.lease.Annotations = "audit", map[string]string{"eventuallytrue.dev/publishers": text, "other": "kept"}
		l := must(lease.New(serve(t, api), home, "audit", lease.Options{Note: func() lease.Note { return lease.Note{Config: "A", At: time.Now()} }}))(t)
		held := must(l.Acquire(t.Context(), 0))(t)
		terms := held.History().Terms
		if len(terms) == 0 || terms[len(terms)-1].Config != "A" || terms[0].Since.After(time.Now()) {
			t.Errorf("%s: %+v", text, terms)
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
		if now, _ := api.state(); now.Annotations["other"] != "kept" {
			t.Errorf("%s: the annotations are %v", text, now.Annotations)
		}
	}
}

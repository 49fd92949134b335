package store_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// counter counts requests.
type counter struct {
	mu   sync.Mutex
	n    int
	next http.RoundTripper
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.next.RoundTrip(r)
}

// since returns the number of requests since it was last called.
func (c *counter) since() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

func counting(cfg *rest.Config) (*rest.Config, *counter) {
	c := &counter{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		c.next = next
		return c
	})
	return cfg, c
}

func TestLiveStoreIsSparingOfRequests(t *testing.T) {
	cluster := findingsCluster(t)
	cfg, requests := counting(cluster.Config(kubetest.Admin))
	findings := newStore(t, cfg, store.Options{})
	st := must(findings.Create(t.Context(), aRecord("a.example.com")))(t)
	want := func(what string, n int) {
		t.Helper()
		if got := requests.since(); got != n {
			t.Errorf("%s takes %d requests, not %d", what, got, n)
		}
	}
	want("a creation", 2)
	st.Message = "another"
	st = must(findings.Update(t.Context(), st))(t)
	want("an update that leaves the labels", 1)
	st.State, st.ResolvedAt = audit.StateResolved, monday
	st = must(findings.Update(t.Context(), st))(t)
	want("an update that changes labels", 3)
	st = must(findings.Get(t.Context(), st.ID))(t)
	want("a look at one", 1)
	version := st.Version
	st = must(findings.Update(t.Context(), st))(t)
	want("an update that changes nothing", 1)
	if st.Version != version {
		t.Error("an update that changes nothing is stored")
	}
	if err := findings.Delete(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	want("a deletion", 1)
}

func TestLiveManyFindingsComeInPages(t *testing.T) {
	cluster := findingsCluster(t)
	cfg, requests := counting(cluster.Config(kubetest.Admin))
	findings := newStore(t, cfg, store.Options{})
	const many = 1200
	began := time.Now()
	slots := make(chan struct{}, 16)
	var wait sync.WaitGroup
	for i := range many {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if _, err := findings.Create(t.Context(), aRecord(fmt.Sprintf("%d.example.com", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	t.Logf("created in %s with %d requests", time.Since(began), requests.since())
	began = time.Now()
	records, newer, err := findings.Load(t.Context())
	if err != nil || len(records) != many || len(newer) != 0 {
		t.Fatalf("load: %d records, %v, %v", len(records), newer, err)
	}
	// Of 1000 first, and then of as many as make a few MiB.
	if n := requests.since(); n != 2 {
		t.Errorf("they come in %d pages, not 2", n)
	}
	t.Logf("loaded in %s", time.Since(began))
	for i := 1; i < many; i++ {
		if records[i-1].ID >= records[i].ID {
			t.Fatalf("%s comes before %s", records[i-1].ID, records[i].ID)
		}
	}
}

package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eventuallytrue/audit/notify"
)

func TestAllWaitForWhatOneWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{answer: replies(reply{code: 429, after: "60"})}
		s, begin := newSender(t, "https://tickets.example.com", direct{to}), time.Now()
		var wait sync.WaitGroup
		for i := range 200 {
			wait.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if err := send(t.Context(), s, digests()["opened"]); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if n := to.requests(); n != 1 {
			t.Errorf("%d requests while it wanted to be left alone", n)
		}
		wait.Wait()
		if took := time.Since(begin); len(to.bodies) != 200 || took != time.Minute {
			t.Errorf("%d were taken in %s", len(to.bodies), took)
		}
	})
}

// crowd counts how many requests are on their way at once.
type crowd struct {
	mu        sync.Mutex
	now, most int
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.add(1)
	time.Sleep(time.Second)
	c.add(-1)
	w.WriteHeader(http.StatusOK)
}

func (c *crowd) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

func TestFewAreOnTheirWayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 8500*time.Millisecond)
		defer cancel()
		to := &crowd{}
		s := newSender(t, "https://tickets.example.com", direct{to})
		var wait sync.WaitGroup
		var mu sync.Mutex
		late := 0
		for range 40 {
			wait.Go(func() {
				err := send(ctx, s, digests()["opened"])
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, notify.ErrRefused):
					late++
				case err != nil:
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if to.most != 4 || late != 4 {
			t.Errorf("%d at once, %d came too late", to.most, late)
		}
	})
}

func TestAReceiverThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin := newSender(t, "https://tickets.example.com", hanging{}), time.Now()
		err := send(t.Context(), s, digests()["opened"])
		if err == nil || errors.Is(err, notify.ErrRefused) {
			t.Errorf("it says %v", err)
		}
		if took := time.Since(begin); took != 64*time.Second {
			t.Errorf("it took %s", took)
		}
		gone := errors.New("the sweep was ended")
		for _, after := range []time.Duration{5 * time.Second, 50 * time.Second} { // in the first try, and the last
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(gone) })
			begin = time.Now()
			if err = send(ctx, s, digests()["opened"]); !errors.Is(err, gone) {
				t.Errorf("it says %v", err)
			}
			if took := time.Since(begin); took != after {
				t.Errorf("it took %s", took)
			}
		}
	})
}

// hanging never answers.
type hanging struct{}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

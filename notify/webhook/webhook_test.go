package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/webhook"
)

// signed returns a body, and the signature header that it is sent with now.
func signed(t *testing.T) (body, header string) {
	t.Helper()
	to := &receiver{}
	if err := send(t.Context(), newSender(t, "https://tickets.example.com", direct{to}), digests()["opened"]); err != nil {
		t.Fatal(err)
	}
	return to.bodies[0], to.seen[0].Get(webhook.SignatureHeader)
}

// forgeries returns genuine and forged requests.
func forgeries(body, header string, now time.Time) []struct {
	name, secret, body, header string
	ok                         bool
} {
	t, v1, _ := strings.Cut(header, ",")
	later := "t=" + strconv.FormatInt(now.Unix()+1, 10)
	return []struct {
		name, secret, body, header string
		ok                         bool
	}{
		{"a genuine request", hidden, body, header, true},
		{"with a signature of another version", hidden, body, t + ",v0=00," + v1, true},
		{"with a signature by another secret, during rotation", hidden, body, t + ",v1=00," + v1, true},
		{"another secret", hidden + "x", body, header, false},
		{"a modified body", hidden, body + " ", header, false},
		{"a modified time", hidden, body, later + "," + v1, false},
		{"two times", hidden, body, later + "," + header, false},
		{"no signature", hidden, body, t, false},
		{"no time", hidden, body, v1, false},
		{"an invalid time", hidden, body, "t=now," + v1, false},
		{"an empty header", hidden, body, "", false},
	}
}

func TestSignatures(t *testing.T) {
	body, header := signed(t)
	for _, row := range forgeries(body, header, time.Now()) {
		t.Run(row.name, func(t *testing.T) {
			if err := verify(row.secret, row.header, []byte(row.body), time.Now()); (err == nil) != row.ok {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := verify(hidden, header, []byte(body), time.Now().Add(6*time.Minute)); err == nil {
		t.Error("a request is accepted that is six minutes old")
	}
}

// The function in docs/webhook.md has the same results as the one in Go.
func TestVerifyInReadme(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	page, err := os.ReadFile("../../docs/webhook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("docs/webhook.md shows no Python")
	}
	body, header := signed(t)
	rows := forgeries(body, header, time.Now())
	var calls [][]any
	for _, row := range rows {
		calls = append(calls, []any{row.secret, row.header, row.body, 300})
	}
	calls = append(calls, []any{hidden, header, body, -1})
	stdin, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", code+`
import json, sys
print(json.dumps([verify(s.encode(), h, b.encode(), t) for s, h, b, t in json.load(sys.stdin)]))`)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(calls) {
		t.Fatalf("%d answers to %d calls: %v", len(got), len(calls), err)
	}
	for i, row := range rows {
		if got[i] != row.ok {
			t.Errorf("%s: got %t", row.name, got[i])
		}
	}
	if got[len(rows)] {
		t.Error("it accepts an old request")
	}
}

func TestEachTryHasANewSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{answer: replies(reply{code: 503, after: "3600"})}
		if err := send(t.Context(), newSender(t, "https://tickets.example.com", direct{to}), digests()["opened"]); err != nil {
			t.Fatal(err)
		}
		first, second := to.seen[0].Get(webhook.SignatureHeader), to.seen[1].Get(webhook.SignatureHeader)
		if first == second || len(to.bodies) != 1 {
			t.Errorf("signed %s, and an hour later %s", first, second)
		}
	})
}

func TestNew(t *testing.T) {
	holding := func(content string) func() (notify.Secret, error) {
		return func() (notify.Secret, error) { return notify.NewSecret([]byte(content)) }
	}
	for _, row := range []struct {
		name string
		o    webhook.Options
		err  string
	}{
		{"no URL", webhook.Options{Secret: secret}, "read the URL of the webhook: it is not an http or https URL with a host"},
		{"an invalid URL", webhook.Options{URL: "https://x:" + hidden, Secret: secret}, "read the URL of the webhook: it is not an http or https URL with a host"},
		{"a file", webhook.Options{URL: "file://host/" + hidden, Secret: secret}, "read the URL of the webhook: it is not an http or https URL with a host"},
		{"a password", webhook.Options{URL: "https://me:" + hidden + "@x", Secret: secret}, "read the URL of the webhook: it contains a user or password"},
		{"no secret", webhook.Options{URL: "https://x", Secret: holding("\n")}, "read the secret of the webhook: it is empty"},
		{"a short secret", webhook.Options{URL: "https://x", Secret: holding("fifteen-of-them")}, "read the secret of the webhook: it has fewer than 16 characters"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := webhook.New(row.o)
			if err == nil { // a secret may come later
				err = s.Ready()
			}
			if err == nil || err.Error() != row.err {
				t.Errorf("got %v", err)
			}
		})
	}
	if s := newSender(t, "http://x", nil); s.Name() != "webhook" {
		t.Errorf("its name is %q", s.Name())
	}
}

func TestMessageOfAnotherSender(t *testing.T) {
	to := &receiver{}
	s := newSender(t, "https://tickets.example.com", direct{to})
	m := s.Plan(digests()["opened"])[0]
	m.Body = http.Header{}
	_, err := s.Send(t.Context(), notify.Recipient{}, m, place)
	if err == nil || errors.Is(err, notify.ErrRefused) || len(to.seen) != 0 {
		t.Errorf("got %v after %d requests", err, len(to.seen))
	}
}

func TestRotatedSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{}
		var content atomic.Value
		content.Store("the-key-of-last-year")
		s, err := webhook.New(webhook.Options{
			URL: "https://tickets.example.com", Version: "v1.2.3", Transport: direct{to},
			Secret: func() (notify.Secret, error) { return notify.NewSecret([]byte(content.Load().(string))) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := send(t.Context(), s, digests()["opened"]); !errors.Is(err, notify.ErrRefused) {
			t.Errorf("with last year's key got %v", err)
		}
		content.Store("")
		const empty = "post digest to https://tickets.example.com: read the secret of the webhook: it is empty"
		if err := send(t.Context(), s, digests()["opened"]); err == nil || err.Error() != empty || errors.Is(err, notify.ErrRefused) {
			t.Errorf("while the file is written: got %v", err)
		}
		time.AfterFunc(2*time.Second, func() { content.Store(hidden) })
		if err := send(t.Context(), s, digests()["opened"]); err != nil || len(to.bodies) != 1 {
			t.Errorf("with this year's key got %v", err)
		}
	})
}

func TestPauseHoldsAllSenders(t *testing.T) {
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
			t.Errorf("%d requests during the pause", n)
		}
		wait.Wait()
		if took := time.Since(begin); len(to.bodies) != 200 || took != time.Minute {
			t.Errorf("%d were accepted in %s", len(to.bodies), took)
		}
	})
}

// crowd counts how many requests are in flight at once.
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

func TestSendsAtOnce(t *testing.T) {
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

func TestHangingReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin := newSender(t, "https://tickets.example.com", hanging{}), time.Now()
		err := send(t.Context(), s, digests()["opened"])
		if err == nil || errors.Is(err, notify.ErrRefused) || !errors.Is(err, notify.ErrUnconfirmed) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != 64*time.Second {
			t.Errorf("it took %s", took)
		}
		// The request under way may still finish, since the receiver may be accepting it.
		gone := errors.New("the sweep was ended")
		for _, after := range []time.Duration{5 * time.Second, 50 * time.Second} { // in the first try, and the last
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(gone) })
			begin = time.Now()
			if err = send(ctx, s, digests()["opened"]); !errors.Is(err, gone) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(begin); took != after+notify.Grace {
				t.Errorf("it took %s", took)
			}
		}
	})
}

// hanging never responds.
type hanging struct{}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// fakeStore is a store whose writes fail once its publisher is killed.
type fakeStore struct {
	held map[string]audit.Stored
	dead bool
}

var errDead = errors.New("it was killed")

func (s *fakeStore) Load(context.Context) ([]audit.Stored, []string, error) {
	var out []audit.Stored
	for _, id := range slices.Sorted(maps.Keys(s.held)) {
		out = append(out, s.held[id])
	}
	return out, nil, nil
}

func (s *fakeStore) Get(_ context.Context, id string) (audit.Stored, error) { return s.held[id], nil }

func (s *fakeStore) Create(_ context.Context, r audit.Record) (audit.Stored, error) {
	s.held[r.ID] = audit.Stored{Record: r, Version: "1"}
	return s.held[r.ID], nil
}

func (s *fakeStore) Update(_ context.Context, next audit.Stored) (audit.Stored, error) {
	if s.dead {
		return audit.Stored{}, errDead
	}
	n, err := strconv.Atoi(s.held[next.ID].Version)
	if err != nil || s.held[next.ID].Version != next.Version {
		return audit.Stored{}, audit.ErrConflict
	}
	next.Version = strconv.Itoa(n + 1)
	s.held[next.ID] = next
	return next, nil
}

func (s *fakeStore) Delete(context.Context, audit.Stored) error { return nil }

// fixture is a store, a receiver and a clock.
type fixture struct {
	store *fakeStore
	to    *receiver
	now   time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{store: &fakeStore{held: map[string]audit.Stored{}}, to: &receiver{}, now: swept}
	r := stolen()
	r.SetNotification(audit.Notification{Sender: "webhook", Owner: "checkout", Pending: audit.EventOpened})
	if _, err := w.store.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return w
}

// deliver delivers with a new publisher, and returns the deliveries.
func (w *fixture) deliver(t *testing.T) []string {
	t.Helper()
	w.now = w.now.Add(10 * time.Minute)
	d := &notify.Deliverer{
		Store: w.store, Senders: []notify.Sender{newSender(t, "https://tickets.example.com", direct{w.to})},
		Routes: func(_, owner string) []notify.Route {
			return []notify.Route{{Sender: "webhook", To: notify.Recipient{Owner: owner}}}
		},
		Cluster: "prod-eu-1", Publisher: w.now.String(), WithLease: true, RemindAfter: 24 * time.Hour, Clock: func() time.Time { return w.now },
	}
	stored, _, err := w.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range d.Deliver(t.Context(), stored) {
		out = append(out, fmt.Sprintf("%s %s %s %s", r.Sender, r.Owner, r.Result, r.Reason))
	}
	return out
}

// received returns the events that arrived, and the number of different keys.
func (w *fixture) received(t *testing.T) (events []string, different int) {
	t.Helper()
	seen := map[string]bool{}
	for _, body := range w.to.bodies {
		for _, it := range decode(t, body).Items {
			events = append(events, it.Event)
			seen[it.Key] = true
		}
	}
	digestKeys := slices.Compact(slices.Sorted(slices.Values(w.to.keys)))
	if len(digestKeys) != len(seen) {
		t.Errorf("%d keys of digests, %d of items", len(digestKeys), len(seen))
	}
	return events, len(seen)
}

func TestCrashBeforeRecordingRepeatsOneDigest(t *testing.T) {
	w := newFixture(t)
	w.to.answer = func(_ http.ResponseWriter, n int) bool {
		w.store.dead = n == 1
		return false
	}
	if got := strings.Join(w.deliver(t), "\n"); !strings.Contains(got, errDead.Error()) {
		t.Errorf("the killed publisher returned %s", got)
	}
	w.store.dead = false
	for range 3 {
		w.deliver(t)
	}
	events, different := w.received(t)
	if diff := cmp.Diff([]string{"opened", "opened"}, events); diff != "" || different != 1 {
		t.Errorf("%d of them different (-want +got):\n%s", different, diff)
	}
}

func TestLaterNotificationsHaveNewKeys(t *testing.T) {
	w := newFixture(t)
	w.deliver(t)
	for range 2 {
		w.now = w.now.Add(24 * time.Hour)
		w.deliver(t)
	}
	for _, due := range []struct {
		state audit.State
		event audit.Event
	}{{audit.StateResolved, audit.EventResolved}, {audit.StateOpen, audit.EventReopened}, {audit.StateResolved, audit.EventResolved}} {
		s := w.store.held[stolen().ID]
		s.State = due.state
		m := s.Notifications[0]
		m.Pending = due.event
		s.SetNotification(m)
		w.store.held[s.ID] = s
		w.deliver(t)
		w.deliver(t)
	}
	events, different := w.received(t)
	want := []string{"opened", "reminder", "reminder", "resolved", "reopened", "resolved"}
	if diff := cmp.Diff(want, events); diff != "" || different != len(want) {
		t.Errorf("%d of them different (-want +got):\n%s", different, diff)
	}
}

func TestRefusalIsStoredWithoutTheSecret(t *testing.T) {
	w := newFixture(t)
	w.to.answer = replies(reply{code: 401, body: "sign by " + hidden})
	const want = "post digest to https://tickets.example.com: status 401 Unauthorized: sign by <secret>"
	if diff := cmp.Diff([]string{"webhook checkout refused " + want}, w.deliver(t)); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if m := w.store.held[stolen().ID].Notifications[0]; m.Error != want || m.Pending != audit.EventOpened {
		t.Errorf("stored: %+v", m)
	}
	w.now = w.now.Add(time.Hour)
	if diff := cmp.Diff([]string{"webhook checkout sent "}, w.deliver(t)); diff != "" {
		t.Errorf("an hour later (-want +got):\n%s", diff)
	}
}

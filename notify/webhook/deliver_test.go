package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// shelf is a store that loses hold when its publisher is killed.
type shelf struct {
	held map[string]audit.Stored
	dead bool
}

var errDead = errors.New("it was killed")

func (s *shelf) Load(context.Context) ([]audit.Stored, []string, error) {
	var out []audit.Stored
	for _, id := range slices.Sorted(maps.Keys(s.held)) {
		out = append(out, s.held[id])
	}
	return out, nil, nil
}

func (s *shelf) Get(_ context.Context, id string) (audit.Stored, error) { return s.held[id], nil }

func (s *shelf) Create(_ context.Context, r audit.Record) (audit.Stored, error) {
	s.held[r.ID] = audit.Stored{Record: r, Version: "1"}
	return s.held[r.ID], nil
}

func (s *shelf) Update(_ context.Context, next audit.Stored) (audit.Stored, error) {
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

func (s *shelf) Delete(context.Context, audit.Stored) error { return nil }

// world is a store, a receiver and a clock.
type world struct {
	store *shelf
	to    *receiver
	now   time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{store: &shelf{held: map[string]audit.Stored{}}, to: &receiver{}, now: swept}
	r := stolen()
	r.SetNotification(audit.Notification{Sender: "webhook", Owner: "checkout", Pending: audit.EventOpened})
	if _, err := w.store.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return w
}

// deliver sweeps once, by a publisher that was started anew, and returns what became of it.
func (w *world) deliver(t *testing.T) []string {
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

// heard returns the events that arrived, and how many different keys they had.
func (w *world) heard(t *testing.T) (events []string, different int) {
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

func TestWhoIsKilledBeforeTheMarkRepeatsOneDigest(t *testing.T) {
	w := newWorld(t)
	w.to.answer = func(_ http.ResponseWriter, n int) bool {
		w.store.dead = n == 1
		return false
	}
	if got := strings.Join(w.deliver(t), "\n"); !strings.Contains(got, errDead.Error()) {
		t.Errorf("the publisher that was killed says %s", got)
	}
	w.store.dead = false
	for range 3 {
		w.deliver(t)
	}
	events, different := w.heard(t)
	if diff := cmp.Diff([]string{"opened", "opened"}, events); diff != "" || different != 1 {
		t.Errorf("%d of them different (-want +got):\n%s", different, diff)
	}
}

func TestWhatIsToldAgainIsAnother(t *testing.T) {
	w := newWorld(t)
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
	events, different := w.heard(t)
	want := []string{"opened", "reminder", "reminder", "resolved", "reopened", "resolved"}
	if diff := cmp.Diff(want, events); diff != "" || different != len(want) {
		t.Errorf("%d of them different (-want +got):\n%s", different, diff)
	}
}

func TestWhatIsRefusedIsStoredWithoutTheSecret(t *testing.T) {
	w := newWorld(t)
	w.to.answer = replies(reply{code: 401, body: "sign by " + hidden})
	const want = "post digest to https://tickets.example.com: answered 401 Unauthorized: sign by <secret>"
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

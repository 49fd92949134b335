package source_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestDeadlineLeavesUnfinishedKindsFailed(t *testing.T) {
	hang := kubetest.First(always, laterPage, kubetest.Hang())
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), hang)), source.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	if _, err := source.Read(ctx, []snapshot.Kind{snapshot.Namespaces, snapshot.Ingresses}, &b); err != nil {
		t.Fatal(err)
	}
	s := b.Freeze()
	want := []snapshot.Read{
		{Kind: snapshot.Namespaces, Version: "v1", Status: snapshot.Listed, Items: 3},
		{Kind: snapshot.Ingresses, Version: "v1", Status: snapshot.Failed, Err: "timed out before the list was complete"},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if names := ingressNames(s); len(names) > 0 {
		t.Errorf("a part of the list came through: %v", names)
	}
}

func TestDeadlineCountsForKindsNotBegun(t *testing.T) {
	hang := kubetest.First(always, anything, kubetest.Hang())
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), hang)), source.Options{Parallel: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	if _, err := source.Read(ctx, snapshot.WorkloadKinds(), &b); err != nil {
		t.Fatal(err)
	}
	reads := b.Freeze().Reads()
	for _, r := range reads {
		if r.Status != snapshot.Failed || r.Err != "timed out before the list was complete" {
			t.Errorf("read %v, want failed", r)
		}
	}
	if len(reads) != len(snapshot.WorkloadKinds()) {
		t.Errorf("%d reads", len(reads))
	}
}

// A cancellation ends the sweep whatever the source is waiting for.
func TestCancellationIsAnErrorAtOnce(t *testing.T) {
	tests := map[string]kubetest.Answer{
		"during a request":                         kubetest.Hang(),
		"while it waits between two tries":         kubetest.Text(503, "away"),
		"while client-go waits as the server asks": kubetest.TooManyRequests(30),
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{}, 1)
			disturb := kubetest.First(always, anything, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				select {
				case reached <- struct{}{}:
				default:
				}
				answer(w, r, next)
			})
			wait := func(ctx context.Context, _ time.Duration) { <-ctx.Done() }
			cfg := serve(t, kubetest.Disturb(newFakeAPI(), disturb))
			readInterrupted(t, newSource(t, cfg, source.Options{Sleep: wait}), reached)
		})
	}
}

// deaf is a connection that does not hear of the end of a context, such as one
// that waits for a credential plugin.
type deaf struct{ reached, release chan struct{} }

func (d deaf) RoundTrip(*http.Request) (*http.Response, error) {
	d.reached <- struct{}{}
	<-d.release
	return nil, errors.New("released")
}

func TestCancellationDoesNotWaitForTheDeaf(t *testing.T) {
	d := deaf{reached: make(chan struct{}, 1), release: make(chan struct{})}
	t.Cleanup(func() { close(d.release) })
	cfg := serve(t, newFakeAPI())
	cfg.WrapTransport = func(http.RoundTripper) http.RoundTripper { return d }
	readInterrupted(t, newSource(t, cfg, source.Options{}), d.reached)
}

// readInterrupted cancels a read a moment after it has reached the server.
func readInterrupted(t *testing.T, source *source.Source, reached <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancelled := make(chan time.Time, 1)
	go func() {
		<-reached
		time.Sleep(20 * time.Millisecond)
		cancelled <- time.Now()
		cancel(interrupted)
	}()
	var b snapshot.Builder
	if _, err := source.Read(ctx, ingresses, &b); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want the cause of the cancellation", err)
	}
	if took := time.Since(<-cancelled); took > time.Second {
		t.Errorf("returned %v after the cancellation", took)
	}
}

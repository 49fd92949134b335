package events_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/events"
)

func TestInterruptedRecordingSaysWhy(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cfg := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(errors.New("told to end"))
		<-r.Context().Done()
	}))
	r := on(aRecord("shop.example.com"), webOf("team-a"), webOf("team-b"))
	got := newEvents(t, cfg, events.Options{}).Record(ctx, monday, became(audit.ReasonOpened, r))
	want := []audit.Delivery{{
		Sender: "events", Result: audit.DeliveryFailed, Reason: "2 of 2 Events, such as the one on Ingress team-a/web: discover what the server serves: told to end",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

func TestQuietSweepSendsNoRequests(t *testing.T) {
	cfg := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("it asks for %s", r.URL) }))
	published := became(audit.ReasonConfirmed, on(aRecord("shop.example.com"), webOf("team-a")))
	if got := newEvents(t, cfg, events.Options{}).Record(t.Context(), monday, published); got != nil {
		t.Errorf("deliveries: %+v", got)
	}
}

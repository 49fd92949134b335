package serve

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit/kube/lease"
)

func TestCandidateStandsByLeadsAndStandsByAgain(t *testing.T) {
	var out bytes.Buffer
	b := &fakeClock{now: today}
	ctx, cancel := context.WithCancel(t.Context())
	state := b.health()
	var story []string
	record := func(what string) { story = append(story, what) }
	taken := &lease.HeldError{Lease: "audit", Holder: "other"}
	terms := 0
	c := &candidate{
		health: state, log: untimed(&out), retry: time.Second, release: time.Second, now: b.clock, sleep: b.sleep,
		acquire: func(ctx context.Context, wait time.Duration) (context.Context, func(), error) {
			switch {
			case wait == 0 && terms == 0:
				return nil, nil, taken
			case wait == unlimited:
				record("waits")
				if state.phase != phaseStandby {
					t.Errorf("it waits in phase %d", state.phase)
				}
			}
			terms++
			held, end := context.WithCancelCause(ctx)
			if terms == 1 {
				end(lease.ErrLost)
			} else {
				cancel()
			}
			return held, func() { record("releases"); end(nil) }, nil
		},
		work: func(held context.Context) {
			record("works")
			<-held.Done()
		},
	}
	c.run(ctx)
	if got, want := strings.Join(story, " "), "waits works releases works releases"; got != want {
		t.Errorf("it %s, want %s", got, want)
	}
	for _, line := range []string{`msg="standing by" leader=other`, "msg=leading", `msg="lost the lease"`} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("nothing says %s:\n%s", line, &out)
		}
	}
}

func TestCandidateRetriesAndLogsNowAndThen(t *testing.T) {
	var out bytes.Buffer
	b := &fakeClock{now: today}
	ctx, cancel := context.WithCancel(t.Context())
	state := b.health()
	c := &candidate{
		health: state, log: untimed(&out), retry: 20 * time.Second, now: b.clock, sleep: b.sleep,
		acquire: func(context.Context, time.Duration) (context.Context, func(), error) {
			return nil, nil, errors.New("connection refused")
		},
		work: func(context.Context) { t.Error("it works without a lease") },
	}
	b.onWake = func() {
		if state.ready() == nil {
			t.Error("it is ready")
		}
		if err := state.alive(); err != nil {
			t.Errorf("an unreachable API server is not a reason to restart: %v", err)
		}
		if len(b.slept) == 5 {
			cancel()
		}
	}
	c.run(ctx)
	if n := strings.Count(out.String(), "cannot request the lease"); n != 2 {
		t.Errorf("it complains %d times in 80 seconds:\n%s", n, &out)
	}
}

// An API server that hangs must not delay the shutdown.
func TestCandidateDoesNotWaitLongToRelease(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	b := &fakeClock{now: today}
	hang := make(chan struct{})
	defer close(hang)
	c := &candidate{
		health: b.health(), log: untimed(&out), release: time.Millisecond, now: b.clock, sleep: b.sleep,
		acquire: func(ctx context.Context, _ time.Duration) (context.Context, func(), error) {
			return ctx, func() { <-hang }, nil
		},
		work: func(context.Context) { cancel() },
	}
	c.run(ctx)
	if !strings.Contains(out.String(), "lease not released") {
		t.Errorf("it logs %s", &out)
	}
}

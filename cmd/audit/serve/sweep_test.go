package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// TestFindingsAreLoggedOnRequest: those that open or end, in one line each, and only the
// first of very many. What a tenant named cannot break out of its line.
func TestFindingsAreLoggedOnRequest(t *testing.T) {
	of := func(name string, why audit.Reason, state audit.State) audit.Transition {
		return audit.Transition{Why: why, Record: audit.Record{Finding: audit.Finding{
			ID: "owner-known-1", Rule: "owner-known", Severity: rules.Low, State: state, Owners: []string{"a", "b"},
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: name},
		}}}
	}
	many := &audit.Published{Transitions: []audit.Transition{
		of("kept", audit.ReasonConfirmed, audit.StateOpen), of("carried", audit.ReasonCarriedOver, audit.StateOpen),
		of("gone\nmsg=sweep", audit.ReasonResolved, audit.StateResolved),
	}}
	for range mostFindings + 1 {
		many.Transitions = append(many.Transitions, of("new", audit.ReasonOpened, audit.StateOpen))
	}
	for _, logged := range []bool{true, false} {
		var out bytes.Buffer
		s := &sweeper{
			publish: func(context.Context) (*audit.Result, *audit.Published, error) { return &audit.Result{}, many, nil },
			limit:   time.Minute, now: time.Now, log: slog.New(slog.NewTextHandler(&out, nil)), findings: logged,
		}
		s.sweep(t.Context())
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if !logged {
			if len(lines) != 1 {
				t.Errorf("%d lines, want only that of the sweep", len(lines))
			}
			continue
		}
		const first = `msg=finding state=Resolved why=resolved rule=owner-known subject="gone\nmsg=sweep" severity=low owners=a,b id=owner-known-1`
		if len(lines) != mostFindings+2 || !strings.HasSuffix(lines[1], first) || !strings.HasSuffix(lines[len(lines)-1], "count=2") {
			t.Errorf("%d lines, want the sweep, %d findings and a count of 2; the second line, want ... %s:\n%s", len(lines), mostFindings, first, lines[1])
		}
	}
}

func TestSweepIsOneLineOfTheLog(t *testing.T) {
	ofReason := func(reasons ...audit.Reason) *audit.Published {
		p := &audit.Published{}
		for _, why := range reasons {
			p.Transitions = append(p.Transitions, audit.Transition{Why: why})
		}
		return p
	}
	whole := &audit.Result{Findings: make([]audit.Finding, 3)}
	unstored := &audit.Result{Findings: make([]audit.Finding, 3)}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		unstored.Unpublished = append(unstored.Unpublished, audit.Failure{Stage: audit.StageStore, Where: id, Reason: "no"})
	}
	deliveries := []audit.Delivery{
		{Sender: "events", Result: audit.DeliverySent},
		{Sender: "slack", Owner: "left", Result: audit.DeliverySent},
		{Sender: "slack", Owner: "night", Result: audit.DeliveryHeld},
		{Sender: "slack", Owner: "right", Result: audit.DeliveryRefused, Reason: "is_archived"},
	}
	for _, tt := range []struct {
		name      string
		res       *audit.Result
		published *audit.Published
		err       error
		want      string
	}{
		{
			"a complete sweep", whole,
			ofReason(audit.ReasonOpened, audit.ReasonOpened, audit.ReasonResolved, audit.ReasonRuleRetired, audit.ReasonReopened, audit.ReasonChanged, audit.ReasonCarriedOver, audit.ReasonConfirmed, audit.ReasonKept), nil,
			"level=INFO msg=sweep complete=true findings=3 opened=2 resolved=2 reopened=1 changed=1 dropped=0 carried=1 notified=0 duration=2s\n",
		},
		{
			"owners who were notified, and who could not be", &audit.Result{Findings: make([]audit.Finding, 3), Deliveries: deliveries}, &audit.Published{Deliveries: deliveries}, nil,
			"level=ERROR msg=sweep complete=true findings=3 opened=0 resolved=0 reopened=0 changed=0 dropped=0 carried=0 notified=1 duration=2s " +
				"err=\"deliver right by slack: refused: is_archived\"\n",
		},
		{
			"dropped findings, and findings of a newer version", whole, &audit.Published{Dropped: []string{"x"}, Newer: []string{"y"}}, nil,
			"level=INFO msg=sweep complete=true findings=3 opened=0 resolved=0 reopened=0 changed=0 dropped=1 carried=0 notified=0 duration=2s newer=y\n",
		},
		{
			"a kind that could not be read",
			&audit.Result{
				Reads: []snapshot.Read{{Kind: snapshot.Ingresses, Status: snapshot.Forbidden}},
				Rules: []audit.Outcome{{Rule: "r", Status: audit.RuleFailed, Reason: "panic: at the\ndisco"}},
			},
			&audit.Published{}, nil,
			"level=ERROR msg=sweep complete=false findings=0 opened=0 resolved=0 reopened=0 changed=0 dropped=0 carried=0 notified=0 duration=2s " +
				`err="read ingresses.networking.k8s.io: forbidden; evaluate r: failed: panic: at the\ndisco"` + "\n",
		},
		{
			"findings that could not be written", unstored, ofReason(audit.ReasonOpened), nil,
			"level=ERROR msg=sweep complete=true findings=3 opened=1 resolved=0 reopened=0 changed=0 dropped=0 carried=0 notified=0 duration=2s " +
				`err="store a: no, b: no, c: no, d: no, e: no, and 2 more"` + "\n",
		},
		{
			"an error", nil, nil, errors.New("load findings: no route to host"),
			"level=ERROR msg=sweep complete=false findings=0 opened=0 resolved=0 reopened=0 changed=0 dropped=0 carried=0 notified=0 duration=2s " +
				`err="load findings: no route to host"` + "\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			b := &fakeClock{now: today}
			s := &sweeper{
				limit: time.Minute, now: b.clock, log: untimed(&out),
				publish: func(context.Context) (*audit.Result, *audit.Published, error) {
					b.now = b.now.Add(2 * time.Second)
					return tt.res, tt.published, tt.err
				},
			}
			worked := s.sweep(t.Context())
			if out.String() != tt.want {
				t.Errorf("it logs\n%s want\n%s", out.String(), tt.want)
			}
			if worked != strings.Contains(tt.want, "level=INFO") {
				t.Errorf("worked: %t", worked)
			}
		})
	}
}

func TestSweepThatPanicsIsAnError(t *testing.T) {
	var out bytes.Buffer
	s := &sweeper{limit: time.Minute, now: time.Now, log: untimed(&out), publish: func(context.Context) (*audit.Result, *audit.Published, error) {
		panic("at the disco")
	}}
	if s.sweep(t.Context()) || !strings.Contains(out.String(), "panic: at the disco") {
		t.Errorf("it logs %s", &out)
	}
}

func TestSweepThatIsEndedReportsNoNumbers(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &sweeper{limit: time.Minute, now: time.Now, log: untimed(&out), publish: func(ctx context.Context) (*audit.Result, *audit.Published, error) {
		cancel(lease.ErrLost)
		<-ctx.Done()
		return &audit.Result{}, &audit.Published{}, context.Cause(ctx)
	}}
	s.sweep(ctx)
	if want := "level=WARN msg=\"sweep abandoned\" reason=\"the lease was lost\"\n"; out.String() != want {
		t.Errorf("it logs %s", &out)
	}
}

func TestSweepThatTakesTooLongIsCut(t *testing.T) {
	var out bytes.Buffer
	s := &sweeper{limit: time.Millisecond, now: time.Now, log: untimed(&out), publish: func(ctx context.Context) (*audit.Result, *audit.Published, error) {
		<-ctx.Done()
		return nil, nil, context.Cause(ctx)
	}}
	s.sweep(t.Context())
	if !strings.Contains(out.String(), errTooLong.Error()) {
		t.Errorf("it logs %s", &out)
	}
}

// untimed is a log without times.
func untimed(out *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// Where a right is missing, all writes of a sweep fail alike.
func TestFailuresAreCutToAFewLines(t *testing.T) {
	var failed []string
	for i := range 500 {
		failed = append(failed, fmt.Sprintf("f%d: forbidden", i))
	}
	got := Some(failed, 10, "\n")
	if lines := strings.Split(got, "\n"); len(lines) != 11 || lines[0] != failed[0] || lines[10] != "and 490 more" {
		t.Errorf("it says\n%s", got)
	}
	if got := Some(failed[:10], 10, "\n"); got != strings.Join(failed[:10], "\n") {
		t.Errorf("without a cut, it says\n%s", got)
	}
}

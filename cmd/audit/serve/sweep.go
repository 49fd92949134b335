package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// errTooLong is why a sweep that takes too long is canceled.
var errTooLong = errors.New("the sweep took longer than two intervals and the time to notify owners")

// mostInLine is how many entries of a list the log line of a sweep has.
const mostInLine = 5

// sweeper makes a sweep and logs one line about it.
type sweeper struct {
	publish func(context.Context) (*audit.Result, *audit.Published, error)
	limit   time.Duration // of a whole sweep
	now     func() time.Time
	log     *slog.Logger
	meter   *Meter
	// findings also logs each finding that opens or resolves.
	findings bool
}

// sweep sweeps once and reports whether that was complete: everything was read,
// evaluated and written. Errors go to the log and no further, since the next sweep
// may succeed.
func (s *sweeper) sweep(ctx context.Context) (complete bool) {
	began, measured := s.now(), s.meter.Begin()
	whole, cancel := context.WithTimeoutCause(ctx, s.limit, errTooLong)
	defer cancel()
	res, published, err := s.guarded(whole)
	ended := err
	if err != nil && errors.Is(whole.Err(), context.Canceled) {
		// The counts of half a sweep would be read as those of a whole one.
		s.log.Warn("sweep abandoned", "reason", context.Cause(whole))
		return false
	}
	if err == nil {
		err = shortcomings(res, published)
	}
	line := summary(res, published)
	line = append(line, slog.Duration("duration", s.now().Sub(began).Round(time.Millisecond)))
	if published != nil && len(published.Newer) > 0 {
		line = append(line, slog.String("newer", Some(published.Newer, mostInLine, ", ")))
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
		line = append(line, slog.Any("err", err))
	}
	complete = err == nil
	line = append([]slog.Attr{slog.Bool("complete", complete)}, line...)
	s.log.LogAttrs(ctx, level, "sweep", line...)
	if s.findings && published != nil {
		s.logFindings(ctx, published.Transitions)
	}
	// Findings are stored by now, whether the metrics arrive or not.
	if err := s.meter.End(ctx, measured, res, published, ended); err != nil {
		s.log.Error("metrics not pushed", "err", err)
	}
	return complete
}

// mostFindings is how many findings a sweep logs. The first one may open thousands.
const mostFindings = 100

// logFindings logs the findings that opened or ended.
func (s *sweeper) logFindings(ctx context.Context, all []audit.Transition) {
	n := 0
	for i := range all {
		t := &all[i]
		switch t.Why {
		case audit.ReasonOpened, audit.ReasonReopened, audit.ReasonResolved, audit.ReasonRuleRetired, audit.ReasonExcepted:
		default:
			continue
		}
		if n++; n > mostFindings {
			continue
		}
		r := &t.Record
		s.log.LogAttrs(ctx, slog.LevelInfo, "finding", slog.String("state", string(r.State)), slog.String("why", string(t.Why)),
			slog.String("rule", r.Rule), slog.String("subject", r.Subject.String()), slog.String("severity", r.Severity.String()),
			slog.String("owners", strings.Join(r.Owners, ",")), slog.String("id", r.ID))
	}
	if n > mostFindings {
		s.log.LogAttrs(ctx, slog.LevelInfo, "more findings, which are not logged", slog.Int("count", n-mostFindings))
	}
}

// guarded calls publish and turns a panic into an error. A panic of a rule is caught
// where the rule runs; this is for faults of the program itself.
func (s *sweeper) guarded(ctx context.Context) (res *audit.Result, published *audit.Published, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.publish(ctx)
}

// summary counts what a sweep did with findings.
func summary(res *audit.Result, published *audit.Published) []slog.Attr {
	why := map[audit.Reason]int{}
	findings, dropped, notified := 0, 0, 0
	if res != nil {
		findings = len(res.Findings)
	}
	if published != nil {
		dropped = len(published.Dropped)
		for _, d := range published.Deliveries {
			if d.Result == audit.DeliverySent && d.Owner != "" {
				notified++
			}
		}
		for _, t := range published.Transitions {
			why[t.Why]++
		}
	}
	return []slog.Attr{
		slog.Int("findings", findings),
		slog.Int("opened", why[audit.ReasonOpened]),
		// All that end, for whichever reason.
		slog.Int("resolved", why[audit.ReasonResolved]+why[audit.ReasonRuleRetired]+why[audit.ReasonExcepted]),
		slog.Int("reopened", why[audit.ReasonReopened]),
		slog.Int("changed", why[audit.ReasonChanged]),
		slog.Int("dropped", dropped),
		slog.Int("carried", why[audit.ReasonCarriedOver]),
		slog.Int("notified", notified),
	}
}

// shortcomings returns what a sweep that ended could not do, nil if it did all.
func shortcomings(res *audit.Result, published *audit.Published) error {
	var unread, failed []string
	for _, read := range res.Reads {
		if !read.Status.Known() {
			unread = append(unread, fmt.Sprintf("%s: %s", read.Kind, read.Status))
		}
	}
	for _, o := range res.Rules {
		if o.Status == audit.RuleFailed {
			failed = append(failed, fmt.Sprintf("%s: %s", o.Rule, o.Reason))
		}
	}
	var errs []string
	for _, part := range []struct {
		what string
		list []string
	}{{"read", unread}, {"evaluate", failed}, {"write", published.Failed}, {"publish", Unpublished(published.Problems)}, {"notify", Undelivered(published.Deliveries)}} {
		if len(part.list) > 0 {
			errs = append(errs, part.what+" "+Some(part.list, mostInLine, ", "))
		}
	}
	switch {
	case len(errs) > 0:
		return errors.New(strings.Join(errs, "; "))
	case !res.Complete():
		return errors.New("the sweep is incomplete")
	}
	return nil
}

// Unpublished returns what was not published as it should be.
func Unpublished(all []audit.PublishProblem) []string {
	var lines []string
	for _, p := range all {
		lines = append(lines, p.Where+": "+p.Reason)
	}
	return lines
}

// Undelivered returns which owners could not be notified, and why.
func Undelivered(all []audit.Delivery) []string {
	var lines []string
	for _, d := range audit.Undelivered(all) {
		who := d.Sender
		if d.Owner != "" { // Events have no owner
			who = d.Owner + " by " + d.Sender
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s", who, d.Result, d.Reason))
	}
	return lines
}

// Some joins the first few of a list and counts the rest, to keep a message readable.
func Some(list []string, most int, separator string) string {
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, separator)
}

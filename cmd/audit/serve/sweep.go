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

// sweep sweeps once and reports whether that worked: everything was read, evaluated,
// stored and delivered. Failures go to the log and no further, since the next sweep
// may succeed.
func (s *sweeper) sweep(ctx context.Context) (worked bool) {
	began, measured := s.now(), s.meter.Begin()
	whole, cancel := context.WithTimeoutCause(ctx, s.limit, errTooLong)
	defer cancel()
	res, published, err := s.guarded(whole)
	if err != nil && errors.Is(whole.Err(), context.Canceled) {
		// The counts of half a sweep would be read as those of a whole one.
		s.log.Warn("sweep abandoned", "reason", context.Cause(whole))
		return false
	}
	took := s.now().Sub(began).Round(time.Millisecond)
	// Findings are stored by now, whether the metrics arrive or not.
	unpushed := PushFailures(s.meter.End(ctx, measured, res, published, err))
	var failures []audit.Failure
	var errs []string
	if res != nil {
		failures = res.Failures()
	} else if err != nil {
		errs = append(errs, err.Error())
	}
	worked = len(failures)+len(errs) == 0
	errs = append(errs, ByStage(append(failures, unpushed...), mostInLine, ", ")...)
	line := []slog.Attr{slog.Bool("complete", res != nil && res.Complete())}
	line = append(line, summary(res, published)...)
	line = append(line, slog.Duration("duration", took))
	if published != nil && len(published.Newer) > 0 {
		line = append(line, slog.String("newer", Some(published.Newer, mostInLine, ", ")))
	}
	level := slog.LevelInfo
	if len(errs) > 0 {
		level = slog.LevelError
		line = append(line, slog.String("err", strings.Join(errs, "; ")))
	}
	s.log.LogAttrs(ctx, level, "sweep", line...)
	if s.findings && published != nil {
		s.logFindings(ctx, published.Transitions)
	}
	return worked
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

// ByStage returns a text for each stage in which something failed: the stage, and the
// first few failures in it.
func ByStage(failures []audit.Failure, most int, separator string) []string {
	var out []string
	for _, stage := range audit.Stages() {
		var lines []string
		for _, f := range failures {
			if f.Stage == stage {
				lines = append(lines, f.Where+": "+f.Reason)
			}
		}
		if len(lines) > 0 {
			out = append(out, string(stage)+" "+Some(lines, most, separator))
		}
	}
	return out
}

// PushFailures returns the failures in the error of a push, which may join several.
func PushFailures(err error) []audit.Failure {
	if err == nil {
		return nil
	}
	all := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		all = several.Unwrap()
	}
	var out []audit.Failure
	for _, err := range all {
		out = append(out, audit.Failure{Stage: audit.StagePush, Where: "metrics", Reason: strings.TrimPrefix(err.Error(), "push metrics: ")})
	}
	return out
}

// Some joins the first few of a list and counts the rest, to keep a message readable.
func Some(list []string, most int, separator string) string {
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, separator)
}

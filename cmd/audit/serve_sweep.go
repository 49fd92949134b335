package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// errTooLong is the cause for which a sweep ends that takes too long.
var errTooLong = errors.New("the sweep took longer than two intervals")

// sweeper makes a sweep and logs one line of it.
type sweeper struct {
	publish func(context.Context) (*audit.Result, *audit.Published, error)
	limit   time.Duration // of a whole sweep
	now     func() time.Time
	log     *slog.Logger
	meter   *meter
}

// sweep sweeps once and reports whether that was complete: all was read and
// judged, and all was written. Its errors go to the log and no further, since
// the next sweep may do better.
func (s *sweeper) sweep(ctx context.Context) (complete bool) {
	began, measured := s.now(), s.meter.begin()
	whole, cancel := context.WithTimeoutCause(ctx, s.limit, errTooLong)
	defer cancel()
	res, published, err := s.guarded(whole)
	ended := err
	if err != nil && errors.Is(whole.Err(), context.Canceled) {
		// The numbers of half a sweep would be taken for those of a whole one.
		s.log.Warn("sweep abandoned", "reason", context.Cause(whole))
		return false
	}
	if err == nil {
		err = shortcomings(res, published)
	}
	line := summary(res, published)
	line = append(line, slog.Duration("duration", s.now().Sub(began).Round(time.Millisecond)))
	if published != nil && len(published.Newer) > 0 {
		line = append(line, slog.String("newer", some(published.Newer)))
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelError
		line = append(line, slog.Any("err", err))
	}
	complete = err == nil
	line = append([]slog.Attr{slog.Bool("complete", complete)}, line...)
	s.log.LogAttrs(ctx, level, "sweep", line...)
	// What was found is stored, whether somebody counts it or not.
	if err := s.meter.end(ctx, measured, res, published, ended); err != nil {
		s.log.Error("metrics not pushed", "err", err)
	}
	return complete
}

// guarded is publish, of which a panic is an error like others. One of a rule is
// caught where the rule runs; this is for our own faults.
func (s *sweeper) guarded(ctx context.Context) (res *audit.Result, published *audit.Published, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.publish(ctx)
}

// summary counts what became of the findings of a sweep.
func summary(res *audit.Result, published *audit.Published) []slog.Attr {
	why := map[audit.Reason]int{}
	findings, dropped, sent := 0, 0, 0
	if res != nil {
		findings = len(res.Findings)
	}
	if published != nil {
		dropped = len(published.Dropped)
		for _, d := range published.Deliveries {
			if d.Result == audit.DeliverySent && d.Owner != "" {
				sent++
			}
		}
		for _, t := range published.Transitions {
			why[t.Why]++
		}
	}
	return []slog.Attr{
		slog.Int("findings", findings),
		slog.Int("opened", why[audit.ReasonOpened]),
		// All that end, whether they were mended or are not asked for any more.
		slog.Int("resolved", why[audit.ReasonResolved]+why[audit.ReasonRuleRetired]+why[audit.ReasonExcepted]),
		slog.Int("reopened", why[audit.ReasonReopened]),
		slog.Int("changed", why[audit.ReasonChanged]),
		slog.Int("dropped", dropped),
		slog.Int("carried", why[audit.ReasonCarriedOver]),
		slog.Int("told", sent),
	}
}

// shortcomings says what a sweep that ended could not do, nil if it did all.
func shortcomings(res *audit.Result, published *audit.Published) error {
	var unread, unjudged []string
	for _, read := range res.Reads {
		if !read.Status.Known() {
			unread = append(unread, kindAndStatus(read))
		}
	}
	for _, o := range res.Rules {
		if o.Status == audit.RuleFailed {
			unjudged = append(unjudged, fmt.Sprintf("%s: %s", o.Rule, o.Reason))
		}
	}
	var errs []string
	for _, part := range []struct {
		what string
		list []string
	}{{"read", unread}, {"judge", unjudged}, {"write", published.Failed}, {"tell", untold(published.Deliveries)}} {
		if len(part.list) > 0 {
			errs = append(errs, part.what+" "+some(part.list))
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

func kindAndStatus(read snapshot.Read) string {
	return fmt.Sprintf("%s: %s", read.Kind, read.Status)
}

// some joins the first of a list and counts the others, so that a line stays one
// that can be read.
func some(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

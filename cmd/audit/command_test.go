package main

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestStop(t *testing.T) {
	done := func(err error) chan error {
		c := make(chan error, 1)
		c <- err
		return c
	}
	never := make(chan error)
	for _, tt := range []struct {
		name    string
		grace   time.Duration // none: the command does not stop gracefully
		signal  os.Signal
		again   bool
		done    chan error
		code    int
		message string
	}{
		{"a service is terminated", time.Minute, syscall.SIGTERM, false, done(nil), 0, ""},
		{"a service is interrupted", time.Minute, syscall.SIGINT, false, done(nil), 130, ""},
		{"a service fails just then", time.Minute, syscall.SIGTERM, false, done(&exitError{exitUsage, errors.New("no")}), 2, "audit: no\n"},
		{"a service does not stop", time.Millisecond, syscall.SIGTERM, false, never, 143, "audit: received signal terminated, work in progress was canceled\n"},
		{"a service is interrupted twice", time.Minute, syscall.SIGINT, true, never, 130, "audit: received signal interrupt, work in progress was canceled\n"},
		{"a report is terminated", 0, syscall.SIGTERM, false, done(nil), 143, "audit: received signal terminated, no report was printed\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var errs bytes.Buffer
			signals := make(chan os.Signal, 1)
			if tt.again {
				signals <- tt.signal
			}
			c := command{err: &errs, signals: signals, stopping: &stopping{}}
			if tt.grace > 0 {
				c.stopping.allow(tt.grace)
			}
			if code := c.stop(tt.signal, tt.done); code != tt.code || errs.String() != tt.message {
				t.Errorf("exit %d, %q; want %d, %q", code, &errs, tt.code, tt.message)
			}
		})
	}
}

package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxTries is how often one request is made before its error counts. client-go
// has its own tries inside each: it waits and asks again, up to ten times,
// where the server says Retry-After or the connection broke before an answer.
const maxTries = 5

// firstWait is the wait after the first failure; each later one is twice as
// long. longestWait bounds what a server may ask for instead.
const (
	firstWait   = 200 * time.Millisecond
	longestWait = 30 * time.Second
)

// retry makes a request until it succeeds, fails for good, or failed often
// enough. When the context ends it returns without waiting any longer.
func (s *Source) retry(ctx context.Context, request func(context.Context) error) error {
	return s.try(s.usage.begin(ctx), request)
}

// try is retry with a context of usage.begin.
func (s *Source) try(ctx context.Context, request func(context.Context) error) error {
	wait := firstWait
	for try := 1; ; try++ {
		err := request(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case try == maxTries || !transient(err):
			return err
		}
		s.opts.Sleep(ctx, max(wait, askedWait(err)))
		wait *= 2
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// transient reports whether the same request may succeed a moment later.
func transient(err error) bool {
	if errors.Is(err, errNoDiscovery) {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	var object *objectError
	if errors.As(err, &object) {
		return false
	}
	// What is left is a broken connection or an answer that was cut short or
	// garbled on its way, but for the faults of a configuration.
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.As(err, &certificate):
		return false
	case errors.As(err, &name) && name.IsNotFound:
		return false
	}
	// client-go has no type for a credential plugin that failed. It may have
	// asked a person for a password: it must not ask again for every try.
	return !strings.Contains(err.Error(), "getting credentials: ")
}

// askedWait is how long the server asked to be left alone, within reason.
func askedWait(err error) time.Duration {
	seconds, ok := apierrors.SuggestsClientDelay(err)
	if !ok {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestWait)
}

// sleep waits for the given time or for the end of the context.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

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
// also retries within each try: up to ten times where the server sends Retry-After
// or the connection broke before a response.
const maxTries = 5

// firstWait is the wait after the first failure; each later wait is twice as long.
// longestWait bounds what a server may ask for instead.
const (
	firstWait   = 200 * time.Millisecond
	longestWait = 30 * time.Second
)

// Retry makes a request until it succeeds, fails permanently, or failed often
// enough. When the context ends it returns without waiting any longer.
//
// The helpers of k8s.io/apimachinery/pkg/util/wait are not used: they can't wait as
// long as the server asks for, nor be tested without waiting.
func (c *Client) Retry(ctx context.Context, request func(context.Context) error) error {
	return c.retry(c.usage.begin(ctx), request)
}

// retry is Retry with a context that meter.begin returned.
func (c *Client) retry(ctx context.Context, request func(context.Context) error) error {
	wait := firstWait
	for try := 1; ; try++ {
		err := request(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case try == maxTries || !Transient(err):
			return err
		}
		c.opts.Sleep(ctx, max(wait, requestedWait(err)))
		wait *= 2
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Transient reports whether the same request may succeed a moment later.
func Transient(err error) bool {
	if errors.Is(err, errNoDiscovery) {
		return false
	}
	if code, ok := statusCode(err); ok {
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	var object *ObjectError
	if errors.As(err, &object) {
		return false
	}
	// The rest are broken connections and responses that were truncated or corrupted
	// on the way, except for these configuration errors.
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.As(err, &certificate):
		return false
	case errors.As(err, &name) && name.IsNotFound:
		return false
	}
	// client-go has no type for a credential plugin that failed. The plugin may have
	// asked a person for a password, so it must not run again for every try.
	return !strings.Contains(err.Error(), "getting credentials: ")
}

// Rejected reports whether the server would refuse the same request again.
func Rejected(err error) bool {
	code, ok := statusCode(err)
	return ok && code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}

// requestedWait is how long the server asks the client to wait, within reason.
func requestedWait(err error) time.Duration {
	seconds, ok := apierrors.SuggestsClientDelay(err)
	if !ok {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestWait)
}

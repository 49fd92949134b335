// Package webhook sends digests as signed JSON to one receiver, such as a bridge to
// another chat or a ticket system. docs/webhook.md is for people who write a receiver.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

const (
	// sendsAtOnce is how many digests are in flight at a time: there is one receiver.
	sendsAtOnce = 4
	// maxResponseHeader is how many bytes of a response's header are read.
	maxResponseHeader = 64 << 10
	// minSecret is the least length of a secret: a shorter one could be guessed from one
	// signed message.
	minSecret = 16
	// maxTries is how often a message is sent that fails for a transient reason, and
	// backoff how long to wait after the first try, tripled after each further one.
	maxTries = 3
	backoff  = time.Second
)

// SignatureHeader is the header with the time of sending and the signature: t=<Unix
// seconds>,v1=<hex>. The signature is the HMAC-SHA256 of the time as in the header, a
// period, and the body.
const SignatureHeader = "X-Audit-Signature"

// Options are the options of a sender.
type Options struct {
	// URL is where digests are posted to. Errors show only its host: the path of some
	// receivers is as good as a password.
	URL string
	// Secret reads the key of the signature, of at least 16 characters. New calls it, and
	// so does every request, since keys are rotated.
	Secret func() (notify.Secret, error)
	// Version is the program's, for the User-Agent.
	Version string
	// Transport carries the requests; nil: a clone of the default one, with proxies from
	// the environment and the system's roots.
	Transport http.RoundTripper
	// Clock returns the time; nil: the system's.
	Clock func() time.Time
	// Grace is how long a request may take after its context has ended; notify.Grace by
	// default.
	Grace time.Duration
}

// Sender posts digests to one receiver. Several goroutines may use it.
type Sender struct {
	url       string
	host      string // as errors show it
	secret    func() (notify.Secret, error)
	userAgent string
	client    *http.Client
	clock     func() time.Time
	grace     time.Duration
	inFlight  *semaphore.Weighted
	pause     pause
}

var _ notify.Sender = (*Sender)(nil)

// New returns a sender.
func New(o Options) (*Sender, error) {
	// The error of url.Parse quotes its input.
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("read the URL of the webhook: it is not an http or https URL with a host")
	case u.User != nil:
		return nil, errors.New("read the URL of the webhook: it contains a user or password")
	}
	s := &Sender{
		url: u.String(), host: u.Scheme + "://" + u.Host, secret: o.Secret, userAgent: "audit",
		client: client(o.Transport), clock: o.Clock, inFlight: semaphore.NewWeighted(sendsAtOnce),
		grace: cmp.Or(o.Grace, notify.Grace),
	}
	if o.Version != "" {
		s.userAgent += "/" + o.Version
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	return s, nil
}

// Ready returns an error if the secret cannot be read. Then nothing can be sent.
func (s *Sender) Ready() error {
	_, err := s.key()
	return err
}

// key reads the current secret.
func (s *Sender) key() (notify.Secret, error) {
	secret, err := s.secret()
	switch {
	case err != nil:
		return notify.Secret{}, fmt.Errorf("read the secret of the webhook: %w", err)
	case len(secret.Reveal()) < minSecret:
		return notify.Secret{}, fmt.Errorf("read the secret of the webhook: it has fewer than %d characters", minSecret)
	}
	return secret, nil
}

func client(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = http.DefaultTransport
		// It has another type only if somebody replaced it on purpose.
		if t, ok := transport.(*http.Transport); ok {
			t = t.Clone()
			t.MaxResponseHeaderBytes = maxResponseHeader
			transport = t
		}
	}
	return &http.Client{
		Transport: transport,
		Timeout:   timeout,
		// A redirected POST becomes a GET, whose success would be taken for that of the
		// digest. A signed digest goes only where the config says.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Name returns notify.WebhookName.
func (*Sender) Name() string { return notify.WebhookName }

// Plan returns one message for a digest, or several if it is long, each complete in
// itself.
func (*Sender) Plan(d notify.Digest) []notify.Message { return plan(d) }

// Send posts a message of a plan. There is one receiver, without threads: the recipient
// and the thread do not matter, and the returned reference is zero.
func (s *Sender) Send(ctx context.Context, _ notify.Recipient, m notify.Message, _ audit.MessageRef) (audit.MessageRef, error) {
	p, ok := m.Body.(payload)
	if !ok {
		p.err = errors.New("it was planned by another sender")
	}
	if p.err != nil {
		return audit.MessageRef{}, fmt.Errorf("encode digest: %w", p.err)
	}
	if s.inFlight.Acquire(ctx, 1) != nil {
		return audit.MessageRef{}, s.failed(context.Cause(ctx))
	}
	defer s.inFlight.Release(1)
	return audit.MessageRef{}, s.send(ctx, p)
}

// send posts until the message is accepted or refused, or maxTries is reached. Waiting
// for as long as the receiver asks for does not count as a try. A message that may have
// arrived is posted again, too: all tries have the same Idempotency-Key.
func (s *Sender) send(ctx context.Context, p payload) (err error) {
	lost := false // the response to a try
	defer func() {
		if err != nil && lost && !errors.Is(err, notify.ErrRefused) {
			err = &unconfirmedError{err}
		}
	}()
	delay := backoff
	for try := 1; ; {
		if err := s.pause.wait(ctx, s.clock); err != nil {
			return s.failed(err)
		}
		r := s.post(ctx, p)
		lost = lost || r.lost
		switch {
		case r.outcome == accepted:
			return nil
		case r.outcome == refused:
			return notify.Refused(s.failed(r.err).Error())
		case ctx.Err() != nil:
			return s.failed(context.Cause(ctx))
		case r.after > 0:
			s.pause.extend(s.clock().Add(r.after), r.err)
			continue
		case try == maxTries:
			return s.failed(r.err)
		}
		if err := notify.Sleep(ctx, delay); err != nil {
			return s.failed(err)
		}
		try, delay = try+1, 3*delay
	}
}

func (s *Sender) failed(err error) error { return fmt.Errorf("post digest to %s: %w", s.host, err) }

// post sends a message once. Each try has a new signature, since receivers reject old
// ones.
func (s *Sender) post(ctx context.Context, p payload) response {
	secret, err := s.key()
	if err != nil {
		return response{err: err}
	}
	if err := context.Cause(ctx); err != nil {
		return response{err: err} // nothing begins after the end
	}
	ctx, cancel := notify.WithGrace(ctx, s.grace)
	defer cancel()
	ctx, mayHaveArrived := notify.Traced(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(p.json))
	if err != nil {
		return noResponse(err, secret)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.userAgent)
	sign(req.Header, secret, p, s.clock())
	resp, err := s.client.Do(req)
	if err != nil {
		r := noResponse(err, secret)
		r.lost = mayHaveArrived()
		return r
	}
	return classify(resp, secret, s.clock())
}

// sign sets the headers that authenticate and identify a message. The key is a quoted
// string, as in draft-ietf-httpapi-idempotency-key-header.
func sign(h http.Header, secret notify.Secret, p payload, now time.Time) {
	t := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte(t + "."))
	mac.Write(p.json)
	h.Set(SignatureHeader, "t="+t+",v1="+hex.EncodeToString(mac.Sum(nil)))
	h.Set("Idempotency-Key", strconv.Quote(p.key))
}

// pause is how long the receiver asked all senders to wait.
type pause struct {
	mu    sync.Mutex
	until time.Time
	why   error // the response that asked for it
}

// extend extends the pause. It never shortens it.
func (p *pause) extend(until time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.until) {
		p.until, p.why = until, why
	}
}

// wait waits for the end of the pause. It fails at once if that is after the deadline of
// the context.
func (p *pause) wait(ctx context.Context, clock func() time.Time) error {
	for {
		p.mu.Lock()
		left, why := p.until.Sub(clock()), p.why
		p.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < left {
			return fmt.Errorf("the receiver asked to wait %s: %w", left.Round(time.Second), why)
		}
		if err := notify.Sleep(ctx, left); err != nil {
			return err
		}
	}
}

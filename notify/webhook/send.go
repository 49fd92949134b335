package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// tries is how often a message is sent that fails by what may pass, and backoff how
// long is waited after the first of them: three times as long after each further.
const (
	tries   = 3
	backoff = time.Second
)

// Send posts a message of a plan. There is one receiver, without threads: to and
// beneath do not matter, and the place is zero.
func (s *Sender) Send(ctx context.Context, _ notify.Recipient, m notify.Message, _ audit.MessageRef) (audit.MessageRef, error) {
	p, ok := m.Body.(payload)
	if !ok {
		p.err = errors.New("it is none of this sender's")
	}
	if p.err != nil {
		return audit.MessageRef{}, fmt.Errorf("encode digest: %w", p.err)
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return audit.MessageRef{}, s.failed(context.Cause(ctx))
	}
	return audit.MessageRef{}, s.deliver(ctx, p)
}

// deliver posts until it was taken or refused, or the tries are used up. A receiver
// that says how long it wants to be left alone uses up none.
func (s *Sender) deliver(ctx context.Context, p payload) error {
	delay := backoff
	for try := 1; ; {
		if err := s.pause.wait(ctx, s.clock); err != nil {
			return s.failed(err)
		}
		a := s.post(ctx, p)
		switch {
		case a.verdict == taken:
			return nil
		case a.verdict == refused:
			return notify.Refused(s.failed(a.err).Error())
		case ctx.Err() != nil:
			return s.failed(context.Cause(ctx))
		case a.after > 0:
			s.pause.extend(s.clock().Add(a.after), a.err)
			continue
		case try == tries:
			return s.failed(a.err)
		}
		if err := sleep(ctx, delay); err != nil {
			return s.failed(err)
		}
		try, delay = try+1, 3*delay
	}
}

func (s *Sender) failed(err error) error { return fmt.Errorf("post digest to %s: %w", s.host, err) }

// post sends a message once. It is signed anew each time, for receivers reject what
// was signed long ago.
func (s *Sender) post(ctx context.Context, p payload) answer {
	secret, err := s.key()
	if err != nil {
		return answer{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(p.json))
	if err != nil {
		return noAnswer(err, secret)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.userAgent)
	sign(req.Header, secret, p, s.clock())
	resp, err := s.client.Do(req)
	if err != nil {
		return noAnswer(err, secret)
	}
	return judge(resp, secret, s.clock())
}

// pause is until when the receiver wants to be left alone, by all who send to it.
type pause struct {
	mu    sync.Mutex
	until time.Time
	why   error // the answer that asked for it
}

// extend makes the pause longer. It is never made shorter.
func (p *pause) extend(until time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.until) {
		p.until, p.why = until, why
	}
}

// wait waits for the end of the pause. It returns an error at once where that
// comes after the context's.
func (p *pause) wait(ctx context.Context, clock func() time.Time) error {
	for {
		p.mu.Lock()
		left, why := p.until.Sub(clock()), p.why
		p.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < left {
			return fmt.Errorf("wait %s: it asked for that when it %w", left.Round(time.Second), why)
		}
		if err := sleep(ctx, left); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Package webhook sends digests as signed JSON to one receiver, so that chat and
// ticket systems of any sort can be reached. README.md is for those who write a
// receiver.
package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/eventuallytrue/audit/notify"
)

const (
	// timeout bounds one try, the answer with it. A receiver that opens tickets
	// takes its time, and one who is cut off may get a digest twice.
	timeout = 20 * time.Second
	// atOnce is how many digests are on their way at a time: it is one receiver.
	atOnce = 4
	// maxAnswerHeader and maxAnswer are how many bytes of an answer are read.
	maxAnswerHeader = 64 << 10
	maxAnswer       = 4 << 10
	// minSecret is how long a secret has to be: a shorter one is guessed, given one
	// signed message.
	minSecret = 16
)

// Options are what a sender needs.
type Options struct {
	// URL is where digests are posted to. No error shows more of it than the host,
	// for the path of some receivers is as good as a password.
	URL string
	// Secret reads the key of the signature, of at least 16 characters. It is asked
	// by New, and again for every request, for keys are rotated.
	Secret func() (notify.Secret, error)
	// Version is that of the program, for the User-Agent.
	Version string
	// Transport carries the requests; nil: one of its own, which takes proxies from
	// the environment and trusts whom the system trusts.
	Transport http.RoundTripper
	// Clock is what time it is; nil: the system's.
	Clock func() time.Time
}

// Sender posts digests to one receiver. Several goroutines may use it.
type Sender struct {
	url       string
	host      string // as errors show it
	secret    func() (notify.Secret, error)
	userAgent string
	client    *http.Client
	clock     func() time.Time
	slots     chan struct{}
	pause     pause
}

var _ notify.Sender = (*Sender)(nil)

// New returns a sender.
func New(o Options) (*Sender, error) {
	// The error of url.Parse quotes what it was given.
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("read the URL of the webhook: it is no http or https URL with a host")
	case u.User != nil:
		return nil, errors.New("read the URL of the webhook: it holds a user or password")
	}
	s := &Sender{
		url: u.String(), host: u.Scheme + "://" + u.Host, secret: o.Secret, userAgent: "audit",
		client: client(o.Transport), clock: o.Clock, slots: make(chan struct{}, atOnce),
	}
	if o.Version != "" {
		s.userAgent += "/" + o.Version
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	_, err = s.key()
	return s, err
}

// key reads the secret as it is now.
func (s *Sender) key() (notify.Secret, error) {
	secret, err := s.secret()
	switch {
	case err != nil:
		return notify.Secret{}, fmt.Errorf("read the secret of the webhook: %w", err)
	case len(secret.Reveal()) < minSecret:
		return notify.Secret{}, errors.New("read the secret of the webhook: it has fewer than 16 characters")
	}
	return secret, nil
}

// Name returns notify.WebhookName.
func (*Sender) Name() string { return notify.WebhookName }

func client(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = http.DefaultTransport
		// It is what it is called unless somebody replaced it: then that is wanted.
		if t, ok := transport.(*http.Transport); ok {
			t = t.Clone()
			t.MaxResponseHeaderBytes = maxAnswerHeader
			transport = t
		}
	}
	return &http.Client{
		Transport: transport,
		Timeout:   timeout,
		// A POST that is redirected becomes a GET, and its answer would say that it
		// was taken. Nor does a signed digest go where nobody configured it to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

package slack

import (
	"regexp"
	"strings"

	"github.com/eventuallytrue/audit/notify"
)

// sendError is an error of Send. Its text is safe to be shown, and of what caused
// it no more is kept than what callers go by.
type sendError struct {
	text  string
	cause error // ErrRefused, that of a context, or none
}

func (e *sendError) Error() string { return e.text }
func (e *sendError) Unwrap() error { return e.cause }

// newError returns an error that shows neither the secret, nor the path of a URL
// that is one, nor the password of a proxy.
func newError(doing string, f failure, secret notify.Secret) error {
	text := secret.Redact(f.text)
	if _, path, ok := strings.Cut(secret.Reveal(), "//"); ok {
		if _, path, ok = strings.Cut(path, "/"); ok && path != "" {
			text = strings.ReplaceAll(text, path, secret.String())
		}
	}
	text = userinfo.ReplaceAllString(text, "//"+secret.String()+"@")
	switch f.outcome {
	case homeless, gone, tooRich, refused:
		f.cause = notify.ErrRefused
	}
	// Clipped last, for half a secret would not be recognised.
	return &sendError{text: doing + ": " + clip(text, maxProse), cause: f.cause}
}

var userinfo = regexp.MustCompile(`//[^/@\s]*@`)

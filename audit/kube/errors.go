package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectError is an object that is stored but can't be decoded. Reading it again
// does not help.
type ObjectError struct{ Err error }

// Error implements error.
func (e *ObjectError) Error() string { return e.Err.Error() }

// Unwrap returns why the object can't be decoded.
func (e *ObjectError) Unwrap() error { return e.Err }

// errNoDiscovery is a server that responds with 404 and is not an API server.
var errNoDiscovery = errors.New("the server does not say what it serves: is it a Kubernetes API server?")

// Install is how to install what storing findings in a namespace needs, for messages.
func Install(namespace string) string {
	return "helm install audit oci://ghcr.io/eventuallytrue/charts/audit -n " + namespace + " --create-namespace"
}

// RequestError is a failed request, described for people.
type RequestError struct{ Err error }

// Error implements error.
func (e *RequestError) Error() string { return Reason(e.Err) }

// Unwrap returns client-go's error.
func (e *RequestError) Unwrap() error { return e.Err }

func statusCode(err error) (int32, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return 0, false
	}
	return status.Status().Code, true
}

// NotServed distinguishes the 404 for a kind that is not served from the 404 for
// an object that does not exist: only the latter is worded by an API server's
// storage.
func NotServed(err error) bool {
	code, ok := statusCode(err)
	return ok && code == http.StatusNotFound && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// maxReason is the number of letters that a reason may have. The error page of a
// gateway would fill the screen.
const maxReason = 240

var userInfo = regexp.MustCompile(`://[^/@\s]+@`)

// Reason describes in one line for people why a request failed. It leaves out the
// URL of the request, which holds page tokens and may hold a password.
func Reason(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	var location *url.Error
	switch {
	case apierrors.IsForbidden(err) && errors.As(err, &status):
		text = status.Status().Message
		// The part before this repeats the kind.
		if _, why, ok := strings.Cut(text, " is forbidden: "); ok {
			text = why
		}
	case errors.As(err, &status):
		text = fmt.Sprintf("HTTP %d: %s", status.Status().Code, status.Status().Message)
	case errors.As(err, &location):
		text = location.Err.Error()
	}
	// client-go's message for a body that ends early is meant for a log.
	if _, why, ok := strings.Cut(text, "Please retry. Original error: "); ok {
		text = "the response ended early: " + why
	}
	return Line(userInfo.ReplaceAllString(text, "://"))
}

// Line returns a text as one line that is no longer than a reason may be.
func Line(text string) string {
	text = Flat(text)
	if letters := []rune(text); len(letters) > maxReason {
		text = string(letters[:maxReason-1]) + "…"
	}
	return text
}

// Flat returns a text as one line. Characters that do not print, such as those of
// an escape sequence or a bidirectional control, become spaces.
func Flat(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Printable returns a text as printable ASCII, cut to a number of letters. It is meant
// for the names of senders, receivers and hosts, which need no more.
func Printable(text string, letters int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), letters)]
}

package kube

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// longestReason is the number of letters a reason may have. An error page of
// a gateway would fill the screen.
const longestReason = 240

var userInfo = regexp.MustCompile(`://[^/@\s]+@`)

// reason says in one line for people why a request failed. It names no URL of
// a request, for that holds page tokens and may hold a password.
func reason(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	var location *url.Error
	switch {
	case apierrors.IsForbidden(err) && errors.As(err, &status):
		text = status.Status().Message
		// What comes before repeats the kind.
		if _, why, ok := strings.Cut(text, " is forbidden: "); ok {
			text = why
		}
	case errors.As(err, &status):
		text = fmt.Sprintf("HTTP %d: %s", status.Status().Code, status.Status().Message)
	case errors.As(err, &location):
		text = location.Err.Error()
	}
	// client-go's words for a body that breaks off are those of a log.
	if _, why, ok := strings.Cut(text, "Please retry. Original error: "); ok {
		text = "the answer broke off: " + why
	}
	return oneLine(userInfo.ReplaceAllString(text, "://"))
}

// oneLine puts a text on one line, and cuts it to the length of a reason.
func oneLine(text string) string {
	text = flat(text)
	if letters := []rune(text); len(letters) > longestReason {
		text = string(letters[:longestReason-1]) + "…"
	}
	return text
}

// flat puts a text on one line: what does not print, such as an escape sequence or
// a mark that turns the direction of writing, becomes a space.
func flat(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

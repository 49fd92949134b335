package kubetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer answers a request in a server's place. It may hand it on to the
// server, which is next.
type Answer func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Decide says what becomes of a request. Nil lets it pass. It is called by
// many goroutines at once.
type Decide func(*http.Request) Answer

// Disturb returns a server that lets a decision come before each request.
func Disturb(next http.Handler, decide Decide) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := decide(r); answer != nil {
			answer(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// First disturbs the first n requests that match and lets the rest pass.
func First(n int, matches func(*http.Request) bool, answer Answer) Decide {
	var seen atomic.Int64
	return func(r *http.Request) Answer {
		if !matches(r) || seen.Add(1) > int64(n) {
			return nil
		}
		return answer
	}
}

// Page matches requests for a page of a resource, such as "ingresses": the
// first page, or the later ones.
func Page(resource string, later bool) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodGet && pathEndsIn(r.URL.Path, resource) &&
			(r.URL.Query().Get("continue") != "") == later
	}
}

func pathEndsIn(path, resource string) bool {
	n := len(path) - len(resource)
	return n > 0 && path[n-1] == '/' && path[n:] == resource
}

// Expire answers as an API server does whose state behind a continue token is
// compacted away, with the token to go on in the present state: who takes that
// mixes two states.
func Expire() Answer {
	return respond(metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusGone,
		Reason:  metav1.StatusReasonExpired,
		Message: "The provided continue parameter is too old to display a consistent list result.",
		// The token says: the state of now, from the key "/" on.
		ListMeta: metav1.ListMeta{Continue: "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLyJ9Cg"},
	}, nil)
}

// TooManyRequests answers as priority and fairness does to a flood. A negative
// retryAfter, in seconds, leaves the header out.
func TooManyRequests(retryAfter int) Answer {
	header := http.Header{}
	if retryAfter >= 0 {
		header.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	return respond(metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusTooManyRequests,
		Reason:  metav1.StatusReasonTooManyRequests,
		Message: "too many requests, please try again later",
		Details: &metav1.StatusDetails{RetryAfterSeconds: int32(max(retryAfter, 0))},
	}, header)
}

// Fail answers with an error as an API server words it.
func Fail(code int, reason metav1.StatusReason, message string) Answer {
	return respond(metav1.Status{
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}, nil)
}

func respond(status metav1.Status, header http.Header) Answer {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		panic(fmt.Sprintf("kubetest: marshal status: %v", err))
	}
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_, _ = w.Write(body)
	}
}

// Text answers as a gateway does that is no API server.
func Text(code int, body string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, body, code)
	}
}

// Hang answers nothing until the client has had enough.
func Hang() Answer {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }
}

// Cut lets the server answer and breaks the connection after so many bytes of
// the body.
func Cut(bytes int) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutWriter{ResponseWriter: w, left: bytes}, r)
	}
}

// cutWriter is a response whose body ends too soon.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if len(p) <= w.left {
		w.left -= len(p)
		return w.ResponseWriter.Write(p)
	}
	_, _ = w.ResponseWriter.Write(p[:w.left])
	// What was written has to go out, or the client would see no answer at
	// all.
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

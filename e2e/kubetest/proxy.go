package kubetest

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Proxy forwards requests to the API server and disturbs some of them the way
// networks, gateways and overloaded servers do.
type Proxy struct {
	// URL is the address of the proxy, which uses the API server's certificate.
	URL string

	cluster *Cluster
	dir     string
	server  *http.Server
	forward *http.Transport
}

// Proxy starts a proxy in front of the API server and writes a kubeconfig for each
// user to dir, unless dir is empty. The caller must Close it.
func (c *Cluster) Proxy(dir string, decide Decide) (*Proxy, error) {
	target, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	listener, err := net.Listen("tcp", address(0))
	if err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	quiet := log.New(io.Discard, "", 0) // aborted connections are intended
	p := &Proxy{URL: "https://" + listener.Addr().String(), cluster: c, dir: dir}
	p.forward = &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: c.cert.pool},
		ForceAttemptHTTP2: true,
		// Cut counts bytes as the server sent them.
		DisableCompression: true,
	}
	p.server = &http.Server{
		Handler: Disturb(&httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:     p.forward,
			FlushInterval: -1,
			ErrorLog:      quiet,
		}, decide),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{c.cert.pair}},
		ErrorLog:  quiet,
	}
	if dir != "" {
		for _, u := range c.users {
			if err := writeKubeconfig(p.Kubeconfig(u.name), p.URL, c.cert.pem, u); err != nil {
				return nil, errors.Join(err, listener.Close())
			}
		}
	}
	// Returns when the proxy is closed.
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

// Config returns a client config for the user that goes through the proxy.
func (p *Proxy) Config(user string) *rest.Config {
	return clientConfig(p.URL, p.cluster.cert.pem, p.cluster.user(user))
}

// Kubeconfig returns the path of a kubeconfig for the user that goes through the
// proxy.
func (p *Proxy) Kubeconfig(user string) string { return filepath.Join(p.dir, user+".kubeconfig") }

// Close breaks all connections and stops the proxy.
func (p *Proxy) Close() error {
	defer p.forward.CloseIdleConnections()
	if err := p.server.Close(); err != nil {
		return fmt.Errorf("stop proxy: %w", err)
	}
	return nil
}

// Answer handles a request instead of the server. It may call the server, which is
// next.
type Answer func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Decide returns how to handle a request, or nil to forward it unchanged. It must be
// safe for concurrent use.
type Decide func(*http.Request) Answer

// Disturb returns a handler that asks decide before it forwards a request to next.
func Disturb(next http.Handler, decide Decide) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := decide(r); answer != nil {
			answer(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// First disturbs the first n requests that match and forwards the rest.
func First(n int, matches func(*http.Request) bool, answer Answer) Decide {
	var seen atomic.Int64
	return func(r *http.Request) Answer {
		if !matches(r) || seen.Add(1) > int64(n) {
			return nil
		}
		return answer
	}
}

// Page matches list requests for a resource, such as "ingresses": for the first page,
// or for later ones.
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

// Expire answers as an API server does for a continue token whose revision has been
// compacted. The response contains the "inconsistent continue" token; a client that
// uses it mixes two states.
func Expire() Answer {
	return respond(metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusGone,
		Reason:  metav1.StatusReasonExpired,
		Message: "The provided continue parameter is too old to display a consistent list result.",
		// Decoded: the current revision, starting at the key "/".
		ListMeta: metav1.ListMeta{Continue: "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLyJ9Cg"},
	}, nil)
}

// TooManyRequests answers as API priority and fairness does under load. A negative
// retryAfter, in seconds, omits the header.
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

// Fail answers with an error in the format of an API server.
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

// Text answers with plain text, as a gateway in front of the API server does.
func Text(code int, body string) Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, body, code)
	}
}

// Hang does not answer until the client gives up.
func Hang() Answer {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }
}

// Cut forwards the request and breaks the connection after the given number of bytes
// of the response body.
func Cut(bytes int) Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&cutWriter{ResponseWriter: w, left: bytes}, r)
	}
}

// cutWriter aborts a response after a number of bytes.
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
	// Without a flush the client would not see the start of the response.
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// Package kube is the client that everything in audit uses to talk to an API
// server: requests with retries, lists that are read page by page and decoded as
// they arrive, discovery of the kinds that are served, and usage counting.
//
// Every read goes to the API server and asks for what is stored at that moment:
// there is no informer, no cache and no older resource version.
package kube

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Options configure a Client. A zero field means its default.
type Options struct {
	// UserAgent identifies the program in the API server's audit log.
	UserAgent string
	// PageSize is the number of objects requested at once. By default the first page
	// has 500, and later pages as many as make a few MiB.
	PageSize int64
	// Sleep waits before a request is retried, and returns early when the context
	// ends. The default is Sleep.
	Sleep func(context.Context, time.Duration)
}

// Client sends requests to one API server, retries them and counts them. It may be
// used by several goroutines at once.
type Client struct {
	clientset kubernetes.Interface
	opts      Options
	usage     *meter
}

// NewClient returns a client for the cluster that the config points to. It does not
// connect yet. The config is not changed.
func NewClient(cfg *rest.Config, opts Options) (*Client, error) {
	if opts.Sleep == nil {
		opts.Sleep = Sleep
	}
	cfg = Config(cfg, opts.UserAgent)
	// Where both are unset the typed clients ask for protobuf.
	cfg.ContentType, cfg.AcceptContentTypes = "", ""
	usage := &meter{}
	cfg.Wrap(usage.watch)
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &Client{clientset: clientset, opts: opts, usage: usage}, nil
}

// Config returns a copy of a config without client-side rate limits. The server's
// priority and fairness throttles better than a client that doesn't know the load,
// and the renewal of a Lease must not wait for other requests.
func Config(cfg *rest.Config, userAgent string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	if userAgent != "" {
		cfg.UserAgent = userAgent
	}
	cfg.QPS, cfg.RateLimiter = -1, nil
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg
}

// Clientset returns the typed clients. Their requests are counted, and retried only
// inside Retry.
func (c *Client) Clientset() kubernetes.Interface { return c.clientset }

// REST returns a client for requests whose path the caller names.
func (c *Client) REST() rest.Interface { return c.clientset.Discovery().RESTClient() }

// Usage returns what the client has requested since it was made.
func (c *Client) Usage() Usage { return c.usage.read() }

// Get starts a request for objects of a kind as JSON.
func (c *Client) Get(kind snapshot.Kind, version string) *rest.Request {
	path := []string{"/apis", kind.Group(), version}
	if kind.Group() == "" {
		path = []string{"/api", version}
	}
	return c.REST().Get().AbsPath(path...).SetHeader("Accept", "application/json")
}

// Body sends a request and returns the body of the response.
func Body(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	// Unlike Raw, Error decodes what the server says about an error, such as why it
	// refused the request, or that a list has expired.
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// Quiet returns a context in which client-go does not log: it returns the same
// things as errors.
func Quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// Sleep waits for the given time or until the context ends.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

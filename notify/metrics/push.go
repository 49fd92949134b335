package metrics

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
)

// job is the job label of everything that is pushed.
const job = "audit"

// groupLabel distinguishes the groups of a cluster. The results have no such label.
const groupLabel = "group"

// Pusher pushes metrics to a Pushgateway.
type Pusher struct {
	url     string
	cluster string
	values  LabelValues
	client  *client
}

// NewPusher returns a pusher for the metrics of one cluster. It neither connects nor
// reads the files that the options name: what only pushing needs is no reason not to
// sweep.
func NewPusher(o Options, cluster string, v LabelValues) (*Pusher, error) {
	// The errors of package url quote what may be a password.
	at, err := url.Parse(o.URL)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return nil, errors.New("push metrics: the URL of the Pushgateway must be an http or https URL")
	case at.User != nil:
		return nil, errors.New("push metrics: the URL of the Pushgateway must not contain a user or password")
	case cluster == "":
		return nil, errors.New("push metrics: the config must set cluster, the name to push them under")
	}
	return &Pusher{url: at.String(), cluster: strings.ToValidUTF8(cluster, "?"), values: v, client: &client{o}}, nil
}

// Push replaces the group of the attempt, that of the results if the sweep was
// complete, and that of the success if nothing failed. If the results could not be
// pushed, the attempt counts a failure. Errors name the URL and no secret.
func (p *Pusher) Push(ctx context.Context, s *Sweep) error {
	var errs []error
	if s.Complete() {
		errs = append(errs, p.replace(ctx, "", func(to prometheus.Registerer) { results(to, s, &p.values) }))
	}
	unpushed := errors.Join(errs...) != nil
	errs = append(errs, p.replace(ctx, "attempt", func(to prometheus.Registerer) {
		attempt(to, s, &p.values, unpushed)
		build(to, &p.values)
	}))
	if s.Succeeded() && errors.Join(errs...) == nil {
		errs = append(errs, p.replace(ctx, "success", func(to prometheus.Registerer) { success(to, s) }))
	}
	return errors.Join(errs...)
}

// replace replaces all metrics of a group.
func (p *Pusher) replace(ctx context.Context, group string, fill func(prometheus.Registerer)) error {
	r := prometheus.NewRegistry()
	fill(r)
	request := push.New(p.url, job).Client(p.client).Gatherer(r).Grouping("cluster", p.cluster)
	if group != "" {
		request = request.Grouping(groupLabel, group)
	}
	if err := request.PushContext(ctx); err != nil {
		return fmt.Errorf("push metrics: %w", err)
	}
	return nil
}

// Options describe how to reach a Pushgateway.
type Options struct {
	URL     string        // without user or password
	Timeout time.Duration // of one push; zero means no limit
	// All files are read for each push, because they may be replaced while the program
	// runs.
	Username, PasswordFile, BearerTokenFile string
	// CAFile holds the authorities that the server's certificate is verified with, by
	// default those of the system. CertFile and KeyFile are the client's certificate.
	CAFile, CertFile, KeyFile string
}

// client sends the requests of pushes. It does not follow redirects: a PUT that is
// redirected to a login page becomes a GET there, and its 200 would count as success.
type client struct{ opts Options }

// connect returns a client with the certificates as they are now.
func (c *client) connect() (*http.Client, error) {
	o := c.opts
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA file: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read CA file: %s contains no certificate", o.CAFile)
		}
	}
	if o.CertFile != "" {
		if _, err := c.certificate(nil); err != nil {
			return nil, err
		}
		settings.GetClientCertificate = c.certificate
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = settings
	// There are at most three requests every few minutes.
	transport.DisableKeepAlives = true
	return &http.Client{
		Transport:     transport,
		Timeout:       o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (c *client) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(c.opts.CertFile, c.opts.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	return &cert, nil
}

// authorization returns a function that sets the Authorization header.
func (c *client) authorization() (func(*http.Request), error) {
	switch {
	case c.opts.Username != "":
		password, err := readSecret(c.opts.PasswordFile)
		return func(r *http.Request) { r.SetBasicAuth(c.opts.Username, password) }, err
	case c.opts.BearerTokenFile != "":
		token, err := readSecret(c.opts.BearerTokenFile)
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }, err
	}
	return func(*http.Request) {}, nil
}

// readSecret reads a file that contains a secret on one line. It accepts more than
// notify.NewSecret: a password may contain spaces and non-ASCII characters.
func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("read secret: %s must contain exactly one line", path)
	}
	return secret, nil
}

var errRedirect = errors.New("redirects are not followed; does a login page protect the Pushgateway?")

// Do implements push.HTTPDoer.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	authorize, err := c.authorization()
	if err != nil {
		return nil, err
	}
	authorize(r)
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, err // names the URL, and no secret of the header
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		defer response.Body.Close()
		return nil, fmt.Errorf("%s: status %d: %w", r.URL.Redacted(), response.StatusCode, errRedirect)
	}
	response.Body = clipped(response.Body)
	return response, nil
}

// clipped returns the beginning of a body as one line, to be part of an error.
func clipped(body io.ReadCloser) io.ReadCloser {
	const limit = 300
	defer body.Close()
	// A body that cannot be read only shortens the error.
	data, _ := io.ReadAll(io.LimitReader(body, limit))
	return io.NopCloser(strings.NewReader(strings.Join(strings.Fields(strings.ToValidUTF8(string(data), "?")), " ")))
}

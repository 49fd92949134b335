package metrics

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Options say how to reach a Pushgateway.
type Options struct {
	URL     string        // without user or password
	Timeout time.Duration // of one push; no limit if it is zero
	// What proves who pushes is read from files, anew for each push: they may be
	// replaced while the program runs.
	Username, PasswordFile, BearerTokenFile string
	// CAFile holds those who may have signed the server's certificate, by default
	// those that the system trusts. CertFile and KeyFile are the client's own.
	CAFile, CertFile, KeyFile string
}

// client makes the requests of pushes. It follows no redirect: a PUT that is sent
// to a login page becomes a GET there, whose 200 would be taken for success.
type client struct {
	http *http.Client
	opts Options
}

func newClient(o Options) (*client, error) {
	c := &client{opts: o}
	if _, err := c.authorization(); err != nil {
		return nil, err
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read authority: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read authority: there is no certificate in %s", o.CAFile)
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
	// There are three requests every few minutes.
	transport.DisableKeepAlives = true
	c.http = &http.Client{
		Transport:     transport,
		Timeout:       o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

func (c *client) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(c.opts.CertFile, c.opts.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	return &cert, nil
}

// authorization returns what sets the header that says who pushes.
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

// readSecret reads a file that holds a secret on one line.
func readSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("read secret: %s does not hold one line", path)
	}
	return secret, nil
}

var errRedirect = errors.New("it wants us to go to another page, which is not done: is that a login?")

// Do implements push.HTTPDoer.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	authorize, err := c.authorization()
	if err != nil {
		return nil, err
	}
	authorize(r)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err // names the URL, and no secret of the header
	}
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		defer answer.Body.Close()
		return nil, fmt.Errorf("%s: answer %d: %w", r.URL.Redacted(), answer.StatusCode, errRedirect)
	}
	answer.Body = clipped(answer.Body)
	return answer, nil
}

// clipped returns the beginning of a body on one line, for it goes into errors.
func clipped(body io.ReadCloser) io.ReadCloser {
	const most = 300
	defer body.Close()
	// What could not be read is missing from an error, and nothing worse.
	data, _ := io.ReadAll(io.LimitReader(body, most))
	return io.NopCloser(strings.NewReader(strings.Join(strings.Fields(strings.ToValidUTF8(string(data), "?")), " ")))
}

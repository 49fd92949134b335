package kubetest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// Proxy stands between clients and the API server and does to some requests
// what networks, gateways and busy servers do.
type Proxy struct {
	// URL is where the proxy listens. It shows the API server's certificate.
	URL string

	cluster *Cluster
	dir     string
	server  *http.Server
	forward *http.Transport
}

// Proxy starts a proxy in front of the API server. Its kubeconfigs are written
// to dir, which may be empty if none are needed. The caller must Close it.
func (c *Cluster) Proxy(dir string, decide Decide) (*Proxy, error) {
	target, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	listener, err := net.Listen("tcp", address(0))
	if err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	quiet := log.New(io.Discard, "", 0) // aborted connections are what it is for
	p := &Proxy{URL: "https://" + listener.Addr().String(), cluster: c, dir: dir}
	p.forward = &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: c.cert.pool},
		ForceAttemptHTTP2: true,
		// As the server sent it, so that a cut is one of the wire.
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
	// It returns when the proxy is closed.
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

// Config returns a client config with which the user logs in through the
// proxy.
func (p *Proxy) Config(user string) *rest.Config {
	return clientConfig(p.URL, p.cluster.cert.pem, p.cluster.user(user))
}

// Kubeconfig returns the path of a kubeconfig with which the user logs in
// through the proxy.
func (p *Proxy) Kubeconfig(user string) string { return filepath.Join(p.dir, user+".kubeconfig") }

// Close breaks all connections and stops the proxy.
func (p *Proxy) Close() error {
	defer p.forward.CloseIdleConnections()
	if err := p.server.Close(); err != nil {
		return fmt.Errorf("stop proxy: %w", err)
	}
	return nil
}

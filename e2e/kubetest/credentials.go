package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// user is somebody who logs in with a token.
type user struct{ name, token string }

// certificate is the API server's. It is its own authority.
type certificate struct {
	pem  []byte
	pair tls.Certificate
	pool *x509.CertPool
}

// client returns an HTTP client that trusts the certificate alone.
func (c certificate) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: c.pool},
		DisableKeepAlives: true,
	}}
}

// writeCredentials makes keys and tokens, and writes them down for the API
// server and, as a kubeconfig a user, for clients.
func (c *Cluster) writeCredentials(host string, names []string) error {
	cert, key, err := newCertificate(net.ParseIP(host))
	if err != nil {
		return fmt.Errorf("make the server's certificate: %w", err)
	}
	c.cert = cert
	c.users = []user{{Admin, rand.Text()}}
	tokens := []string{c.users[0].token + `,` + Admin + `,` + Admin + `,"system:masters"`}
	for _, name := range names {
		u := user{name, rand.Text()}
		c.users = append(c.users, u)
		tokens = append(tokens, u.token+","+name+","+name)
	}
	for name, data := range map[string][]byte{
		"server.crt": cert.pem,
		"server.key": key,
		"tokens.csv": []byte(strings.Join(tokens, "\n") + "\n"),
	} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return fmt.Errorf("write credentials: %w", err)
		}
	}
	for _, u := range c.users {
		if err := writeKubeconfig(c.Kubeconfig(u.name), c.URL, cert.pem, u); err != nil {
			return err
		}
	}
	return nil
}

// newCertificate makes a certificate for the API server's address, for a Proxy,
// and for what pods know the API server by.
func newCertificate(host net.IP) (certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "kubetest"},
		// A little earlier than now, for clocks that disagree.
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(30 * 24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.ParseIP(loopback), host, serviceIP},
		DNSNames:              []string{"localhost", "kubernetes.default.svc"},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate{}, nil, err
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return certificate{}, nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certificate{pem: certPEM, pair: pair, pool: pool}, keyPEM, nil
}

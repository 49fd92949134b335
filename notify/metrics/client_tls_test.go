package metrics_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/metrics"
)

// identity makes a certificate that signs itself, and returns the paths of it and
// its key.
func identity(t *testing.T) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: bytes})
	if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return write(t, string(certPEM)), write(t, string(keyPEM)), pair
}

func TestPushOverTLS(t *testing.T) {
	serverCert, _, serverPair := identity(t)
	clientCert, clientKey, clientPair := identity(t)
	clients := x509.NewCertPool()
	clients.AddCert(clientPair.Leaf)
	r := &recorder{}
	server := httptest.NewUnstartedServer(r)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serverPair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	for _, tt := range []struct {
		name string
		opts metrics.Options
		want string // empty: it is pushed
	}{
		{"a server that nobody trusts is told nothing", metrics.Options{CertFile: clientCert, KeyFile: clientKey}, "certificate signed by unknown authority"},
		{"a client without a certificate is not let in", metrics.Options{CAFile: serverCert}, "certificate required"},
		{"two that know each other", metrics.Options{CAFile: serverCert, CertFile: clientCert, KeyFile: clientKey}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.URL = server.URL
			err := gateway(t, tt.opts, "prod").Push(t.Context(), aborted(day))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if len(r.paths) != 1 {
		t.Errorf("the server was told %q", r.paths)
	}
}

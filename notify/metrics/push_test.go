package metrics_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/promtest"
	"github.com/eventuallytrue/audit/notify/metrics"
)

func pusher(t *testing.T, o metrics.Options, cluster string) *metrics.Pusher {
	t.Helper()
	g, err := metrics.NewPusher(o, cluster, values())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func push(t *testing.T, g *metrics.Pusher, s *metrics.Sweep) {
	t.Helper()
	if err := g.Push(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func TestRealPushgatewayHasExactlyTheLastResults(t *testing.T) {
	real := promtest.StartPushgateway(t)
	g := pusher(t, metrics.Options{URL: real.URL, Timeout: 10 * time.Second}, "prod")
	for i, step := range []struct {
		name  string
		sweep *metrics.Sweep
	}{
		{"broken", broken(day)},
		{"half-resolved", halfResolved(day.Add(10 * time.Minute))},
		{"clean", clean(day.Add(20 * time.Minute))},
		{"incomplete", incomplete(day.Add(30 * time.Minute))},
		{"aborted", aborted(day.Add(40 * time.Minute))},
	} {
		push(t, g, step.sweep)
		golden(t, fmt.Sprintf("pushed-%d-%s.txt", i+1, step.name), strings.Join(real.Series(), "\n")+"\n")
	}
}

// ungrouped returns the series of the results, which have no group label.
func ungrouped(series []string) []string {
	var out []string
	for _, s := range series {
		if !strings.Contains(s, `group="`) {
			out = append(out, s)
		}
	}
	return out
}

func TestRealPushgatewayKeepsTheResultsOfTheLastCompleteSweep(t *testing.T) {
	real := promtest.StartPushgateway(t)
	g := pusher(t, metrics.Options{URL: real.URL}, "prod")
	push(t, g, halfResolved(day))
	before := real.Series()
	push(t, g, incomplete(day.Add(time.Hour)))
	push(t, g, aborted(day.Add(2*time.Hour)))
	after := real.Series()
	if diff := cmp.Diff(ungrouped(before), ungrouped(after)); diff != "" {
		t.Errorf("results (-before +after the failures):\n%s", diff)
	}
	if len(ungrouped(before)) < 10 || cmp.Equal(before, after) {
		t.Errorf("the attempts changed none of %d series", len(before))
	}
}

func TestRealPushgatewayKeepsClustersApart(t *testing.T) {
	real := promtest.StartPushgateway(t)
	names := []string{"prod", "staging", "eu/1 ü", strings.Repeat("c", 200)}
	of := func(cluster string) []string {
		var out []string
		for _, s := range real.Series() {
			if strings.Contains(s, fmt.Sprintf("cluster=%q", cluster)) {
				out = append(out, s)
			}
		}
		return out
	}
	for _, cluster := range names {
		push(t, pusher(t, metrics.Options{URL: real.URL}, cluster), broken(day))
	}
	before := of("prod")
	for _, cluster := range names[1:] {
		if len(of(cluster)) != len(before) || len(before) == 0 {
			t.Errorf("cluster %q has %d series, prod has %d", cluster, len(of(cluster)), len(before))
		}
		push(t, pusher(t, metrics.Options{URL: real.URL}, cluster), clean(day.Add(time.Hour)))
	}
	if diff := cmp.Diff(before, of("prod")); diff != "" {
		t.Errorf("pushing another cluster changed the series of prod:\n%s", diff)
	}
}

func TestPromtoolAcceptsWhatIsPushed(t *testing.T) {
	real := promtest.StartPushgateway(t)
	push(t, pusher(t, metrics.Options{URL: real.URL}, "prod"), broken(day))
	var ours strings.Builder
	// The gateway's own metrics are not checked.
	mine := regexp.MustCompile(`^(# (HELP|TYPE) )?audit_`)
	for line := range strings.Lines(real.Text()) {
		if mine.MatchString(line) {
			ours.WriteString(line)
		}
	}
	if out, err := promtest.Promtool(t, ours.String(), "check", "metrics"); err != nil || out != "" {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	if out, err := promtest.Promtool(t, "# HELP audit_x_total\n# TYPE audit_x_total gauge\naudit_x_total 1\n", "check", "metrics"); err == nil {
		t.Errorf("promtool accepts anything: %s", out)
	}
}

const secret = "hunter2"

// write writes a text to a new file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// closedAddress returns a URL at which no server listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestPushErrorNamesURLAndNoSecret(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc // nil: no server listens
		want   string
	}{
		{"no server", nil, "connection refused"},
		{"it responds too late", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "Client.Timeout exceeded"},
		{"it redirects to a login page that says 200", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/metrics") {
				http.Redirect(w, r, "/login?token=hunter2", http.StatusFound)
			}
		}, "status 302: redirects are not followed"},
		{"it redirects permanently", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example.com/", http.StatusPermanentRedirect)
		}, "status 308: redirects are not followed"},
		{"it rejects the push with a long text", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "pushed metrics are\n  invalid \x1b[31m"+strings.Repeat("x", 1<<20))
		}, "pushed metrics are invalid"},
		{"it rejects the user", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "who are you", http.StatusUnauthorized)
		}, "unexpected status code 401"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := closedAddress(t)
			if tt.answer != nil {
				server := httptest.NewServer(tt.answer)
				t.Cleanup(server.Close)
				at = server.URL
			}
			g := pusher(t, metrics.Options{URL: at, Timeout: time.Second, Username: "audit", PasswordFile: write(t, secret)}, "prod")
			err := g.Push(t.Context(), clean(day))
			if err == nil {
				t.Fatal("no error")
			}
			if text := err.Error(); !strings.Contains(text, tt.want) || !strings.Contains(text, at+"/metrics/job/audit") {
				t.Errorf("the error does not say %q and %s: %s", tt.want, at, text)
			}
			if text := err.Error(); strings.Contains(text, secret) || len(text) > 2000 {
				t.Errorf("the error shows a secret, or is too long (%d): %.3000s", len(text), text)
			}
		})
	}
}

// recorder is a Pushgateway that accepts and records everything.
type recorder struct {
	paths, bodies, authorizations []string
	reject                        string // responds 400 to paths with this suffix
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.paths = append(r.paths, q.Method+" "+q.URL.EscapedPath())
	r.bodies = append(r.bodies, string(body))
	r.authorizations = append(r.authorizations, q.Header.Get("Authorization"))
	if r.reject != "" && strings.HasSuffix(q.URL.Path, r.reject) {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func TestPushSendsCredentials(t *testing.T) {
	password, token := write(t, secret+"\n"), write(t, secret)
	for _, tt := range []struct {
		name string
		opts metrics.Options
		want string
	}{
		{"none", metrics.Options{}, ""},
		{"a user with a password", metrics.Options{Username: "audit", PasswordFile: password}, "Basic YXVkaXQ6aHVudGVyMg=="},
		{"a bearer token", metrics.Options{BearerTokenFile: token}, "Bearer hunter2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			server := httptest.NewServer(r)
			defer server.Close()
			tt.opts.URL = server.URL + "/base/"
			push(t, pusher(t, tt.opts, "prod"), clean(day))
			for i, got := range r.authorizations {
				if got != tt.want || !strings.HasPrefix(r.paths[i], "PUT /base/metrics/job/audit/") {
					t.Errorf("request %d is %s with authorization %q, want %q", i, r.paths[i], got, tt.want)
				}
			}
			if len(r.paths) != 3 {
				t.Errorf("it pushes %q", r.paths)
			}
		})
	}
}

func TestPushReadsARotatedToken(t *testing.T) {
	r, token := &recorder{}, write(t, "first")
	server := httptest.NewServer(r)
	defer server.Close()
	g := pusher(t, metrics.Options{URL: server.URL, BearerTokenFile: token}, "prod")
	push(t, g, aborted(day))
	if err := os.WriteFile(token, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	push(t, g, aborted(day))
	if got := strings.Join(r.authorizations, ", "); got != "Bearer first, Bearer second" {
		t.Errorf("tokens: %s", got)
	}
}

func TestAttemptCountsResultsThatWereNotPushed(t *testing.T) {
	r := &recorder{reject: "/cluster/prod"}
	server := httptest.NewServer(r)
	defer server.Close()
	if err := pusher(t, metrics.Options{URL: server.URL}, "prod").Push(t.Context(), clean(day)); err == nil {
		t.Error("no error although the results are rejected")
	}
	// The time of success is not pushed.
	if len(r.paths) != 2 || !strings.Contains(r.paths[1], "/group/attempt") {
		t.Fatalf("it pushes %q", r.paths)
	}
	if !strings.Contains(r.bodies[1], "push") {
		t.Error("the attempt does not mention the push")
	}
}

func TestNewPusherRejectsBadOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		opts    metrics.Options
		cluster string
		want    string
	}{
		{"a URL with a password", metrics.Options{URL: "http://audit:hunter2@gateway"}, "prod", "must not contain a user or password"},
		{"a malformed URL", metrics.Options{URL: "http://audit:hunter2@gate%zz"}, "prod", "must be an http or https URL"},
		{"another scheme", metrics.Options{URL: "file:///hunter2"}, "prod", "must be an http or https URL"},
		{"a cluster without a name", metrics.Options{URL: "http://gateway"}, "", "must set cluster"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := metrics.NewPusher(tt.opts, tt.cluster, values())
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What only pushing needs is read when metrics are pushed, not before the sweep.
func TestPushSaysWhichFileIsMissing(t *testing.T) {
	key := write(t, "no key")
	for _, tt := range []struct {
		name string
		opts metrics.Options
		want string
	}{
		{"a missing password file", metrics.Options{URL: "http://gateway", Username: "a", PasswordFile: "/no/such"}, "no such file"},
		{"an empty token file", metrics.Options{URL: "http://gateway", BearerTokenFile: write(t, "\n")}, "must contain exactly one line"},
		{"a token file with a header in it", metrics.Options{URL: "http://gateway", BearerTokenFile: write(t, "hunter2\r\nX: y")}, "must contain exactly one line"},
		{"a missing CA file", metrics.Options{URL: "https://gateway", CAFile: "/no/such"}, "read CA file"},
		{"a CA file without a certificate", metrics.Options{URL: "https://gateway", CAFile: key}, "contains no certificate"},
		{"an invalid client certificate", metrics.Options{URL: "https://gateway", CertFile: key, KeyFile: key}, "read client certificate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := metrics.NewPusher(tt.opts, "prod", values())
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Push(t.Context(), &metrics.Sweep{}); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// identity creates a self-signed certificate and returns the paths of it and its key.
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
		want string // empty: the push succeeds
	}{
		{"an untrusted server receives nothing", metrics.Options{CertFile: clientCert, KeyFile: clientKey}, "certificate signed by unknown authority"},
		{"a client without a certificate is rejected", metrics.Options{CAFile: serverCert}, "certificate required"},
		{"mutual trust", metrics.Options{CAFile: serverCert, CertFile: clientCert, KeyFile: clientKey}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.URL = server.URL
			err := pusher(t, tt.opts, "prod").Push(t.Context(), aborted(day))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if len(r.paths) != 1 {
		t.Errorf("the server received %q", r.paths)
	}
}

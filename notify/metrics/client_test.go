package metrics_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/metrics"
)

const secret = "hunter2"

// write puts a text into a file of its own and returns the path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// closedAddress returns a URL at which nobody listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestPushThatFailsSaysWhereAndNoSecret(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc // nil: nobody listens
		want   string
	}{
		{"nobody is there", nil, "connection refused"},
		{"it answers too late", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "Client.Timeout exceeded"},
		{"it redirects to a login page that says 200", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/metrics") {
				http.Redirect(w, r, "/login?token=hunter2", http.StatusFound)
			}
		}, "answer 302: it wants us to go to another page"},
		{"it redirects for good", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example.com/", http.StatusPermanentRedirect)
		}, "answer 308: it wants us to go to another page"},
		{"it refuses what is pushed, at length", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "pushed metrics are\n  invalid \x1b[31m"+strings.Repeat("x", 1<<20))
		}, "pushed metrics are invalid"},
		{"it does not know the user", func(w http.ResponseWriter, _ *http.Request) {
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
			g := gateway(t, metrics.Options{URL: at, Timeout: time.Second, Username: "audit", PasswordFile: write(t, secret)}, "prod")
			err := g.Push(t.Context(), clean(day))
			if err == nil {
				t.Fatal("it is taken for pushed")
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

// recorder is a gateway that takes everything, and remembers it.
type recorder struct {
	paths, bodies, authorizations []string
	refuse                        string // answers 400 to the path that ends in this
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.paths = append(r.paths, q.Method+" "+q.URL.EscapedPath())
	r.bodies = append(r.bodies, string(body))
	r.authorizations = append(r.authorizations, q.Header.Get("Authorization"))
	if r.refuse != "" && strings.HasSuffix(q.URL.Path, r.refuse) {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func TestPushSaysWhoPushes(t *testing.T) {
	password, token := write(t, secret+"\n"), write(t, secret)
	for _, tt := range []struct {
		name string
		opts metrics.Options
		want string
	}{
		{"nobody in particular", metrics.Options{}, ""},
		{"a user with a password", metrics.Options{Username: "audit", PasswordFile: password}, "Basic YXVkaXQ6aHVudGVyMg=="},
		{"the bearer of a token", metrics.Options{BearerTokenFile: token}, "Bearer hunter2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			server := httptest.NewServer(r)
			defer server.Close()
			tt.opts.URL = server.URL + "/base/"
			push(t, gateway(t, tt.opts, "prod"), clean(day))
			for i, got := range r.authorizations {
				if got != tt.want || !strings.HasPrefix(r.paths[i], "PUT /base/metrics/job/audit/") {
					t.Errorf("request %d is %s by %q, want %q", i, r.paths[i], got, tt.want)
				}
			}
			if len(r.paths) != 3 {
				t.Errorf("it pushes %q", r.paths)
			}
		})
	}
}

func TestPushReadsATokenThatWasReplaced(t *testing.T) {
	r, token := &recorder{}, write(t, "first")
	server := httptest.NewServer(r)
	defer server.Close()
	g := gateway(t, metrics.Options{URL: server.URL, BearerTokenFile: token}, "prod")
	push(t, g, aborted(day))
	if err := os.WriteFile(token, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	push(t, g, aborted(day))
	if got := strings.Join(r.authorizations, ", "); got != "Bearer first, Bearer second" {
		t.Errorf("it pushes as %s", got)
	}
}

func TestAttemptTellsThatItsPictureWasNotPushed(t *testing.T) {
	r := &recorder{refuse: "/cluster/prod"}
	server := httptest.NewServer(r)
	defer server.Close()
	if err := gateway(t, metrics.Options{URL: server.URL}, "prod").Push(t.Context(), clean(day)); err == nil {
		t.Error("a picture that is refused is no error")
	}
	// No stamp is pushed: it was no success.
	if len(r.paths) != 2 || !strings.Contains(r.paths[1], "/group/attempt") {
		t.Fatalf("it pushes %q", r.paths)
	}
	if !strings.Contains(r.bodies[1], "push") {
		t.Error("the attempt does not tell of the push")
	}
}

func TestGatewayIsRefusedBeforeAnythingIsSwept(t *testing.T) {
	key := write(t, "no key")
	for _, tt := range []struct {
		name    string
		opts    metrics.Options
		cluster string
		want    string
	}{
		{"a URL with a password", metrics.Options{URL: "http://audit:hunter2@gateway"}, "prod", "holds a user or password"},
		{"a URL that is none", metrics.Options{URL: "http://audit:hunter2@gate%zz"}, "prod", "is none of http or https"},
		{"another scheme", metrics.Options{URL: "file:///hunter2"}, "prod", "is none of http or https"},
		{"a cluster without a name", metrics.Options{URL: "http://gateway"}, "", "the cluster has no name"},
		{"a password file that is not there", metrics.Options{URL: "http://gateway", Username: "a", PasswordFile: "/no/such"}, "prod", "no such file"},
		{"a token file that is empty", metrics.Options{URL: "http://gateway", BearerTokenFile: write(t, "\n")}, "prod", "does not hold one line"},
		{"a token file with a header in it", metrics.Options{URL: "http://gateway", BearerTokenFile: write(t, "hunter2\r\nX: y")}, "prod", "does not hold one line"},
		{"an authority that is not there", metrics.Options{URL: "https://gateway", CAFile: "/no/such"}, "prod", "read authority"},
		{"an authority that is no certificate", metrics.Options{URL: "https://gateway", CAFile: key}, "prod", "there is no certificate in"},
		{"a client certificate that is none", metrics.Options{URL: "https://gateway", CertFile: key, KeyFile: key}, "prod", "read client certificate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := metrics.NewGateway(tt.opts, tt.cluster, vocabulary())
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

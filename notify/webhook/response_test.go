package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/notify"
)

// reply is a response of a receiver that misbehaves.
type reply struct {
	code  int // 0: it takes it
	after string
	body  string
}

func replies(list ...reply) func(http.ResponseWriter, int) bool {
	return func(w http.ResponseWriter, n int) bool {
		if n > len(list) || list[n-1].code == 0 {
			return false
		}
		r := list[n-1]
		if r.after != "" {
			w.Header().Set("Retry-After", r.after)
		}
		w.WriteHeader(r.code)
		_, _ = fmt.Fprint(w, r.body) // the recorder takes everything
		return true
	}
}

func times(n int, r reply) []reply {
	var out []reply
	for range n {
		out = append(out, r)
	}
	return out
}

func TestResponses(t *testing.T) {
	const host = "post digest to https://tickets.example.com: "
	for _, row := range []struct {
		name     string
		replies  []reply
		requests int
		takes    time.Duration
		err      string // empty: it was sent
		refused  bool
	}{
		{"an accepted digest is sent once", nil, 1, 0, "", false},
		{"any 2xx is a success", []reply{{code: 204}}, 1, 0, "", false},
		{"a failure is tried again after a second", []reply{{code: 500}}, 2, time.Second, "", false},
		{"the second failure after three more", []reply{{code: 502}, {code: 504}}, 3, 4 * time.Second, "", false},
		{"three tries at most", times(9, reply{code: 500, body: "boom"}), 3, 4 * time.Second, host + "status 500 Internal Server Error: boom", false},
		{"a code without a name", times(9, reply{code: 599}), 3, 4 * time.Second, host + "status 599", false},
		{"a request timeout is tried again", []reply{{code: 408}}, 2, time.Second, "", false},
		{"a conflict is tried again", []reply{{code: 409}}, 2, time.Second, "", false},
		{"a rate limit without a time is a failure", times(9, reply{code: 429}), 3, 4 * time.Second, host + "status 429 Too Many Requests", false},
		{"a rate limit is obeyed", []reply{{code: 429, after: "30"}}, 2, 30 * time.Second, "", false},
		{"so is maintenance", []reply{{code: 503, after: "90"}}, 2, 90 * time.Second, "", false},
		{"and a date", []reply{{code: 503, after: "Sat, 01 Jan 2000 00:01:00 GMT"}}, 2, time.Minute, "", false},
		{"a date in the past is a second", []reply{{code: 503, after: "Fri, 31 Dec 1999 00:00:00 GMT"}}, 2, time.Second, "", false},
		{"zero seconds is a second", times(9, reply{code: 429, after: "0"}), 10, 9 * time.Second, "", false},
		{"waiting does not count as a try", append(times(5, reply{code: 429, after: "7"}), times(2, reply{code: 500})...), 8, 39 * time.Second, "", false},
		{"a negative time is ignored", times(9, reply{code: 429, after: "-5"}), 3, 4 * time.Second, host + "status 429 Too Many Requests", false},
		{"an overflow is ignored", times(9, reply{code: 429, after: strings.Repeat("9", 40)}), 3, 4 * time.Second, host + "status 429 Too Many Requests", false},
		{
			"a wait beyond the deadline fails at once",
			[]reply{{code: 429, after: "3600", body: "slow down"}},
			1, 0,
			host + "the receiver asked to wait 1h0m0s: status 429 Too Many Requests: slow down", false,
		},
		{"a year is cut to a day", []reply{{code: 503, after: "31536000"}}, 1, 0, host + "the receiver asked to wait 24h0m0s: status 503 Service Unavailable", false},
		{"a refusal is not tried again", []reply{{code: 403, body: "who are you?\n"}}, 1, 0, host + "status 403 Forbidden: who are you?", true},
		{"too large", []reply{{code: 413}}, 1, 0, host + "status 413 Request Entity Too Large", true},
		{"gone", []reply{{code: 410, after: "5"}}, 1, 0, host + "status 410 Gone", true},
		{"a redirect", []reply{{code: 302, body: "/login"}}, 1, 0, host + "status 302 Found: redirects are not followed, set webhook.url to the target of the redirect", true},
		{"a refusal after a failure", []reply{{code: 500}, {code: 401}}, 2, time.Second, host + "status 401 Unauthorized", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				begin, to := time.Now(), &receiver{answer: replies(row.replies...)}
				err := send(ctx, newSender(t, "https://tickets.example.com/hooks/7c1e?k=v#f", direct{to}), digests()["opened"])
				got := ""
				if err != nil {
					got = err.Error()
				}
				if got != row.err || errors.Is(err, notify.ErrRefused) != row.refused {
					t.Errorf("got %q", got)
				}
				lost := row.err != "" && slices.ContainsFunc(row.replies, func(r reply) bool { return r.code >= 500 && r.after == "" })
				if errors.Is(err, notify.ErrUnconfirmed) != (lost && !row.refused) {
					t.Errorf("wrapping ErrUnconfirmed is %t", !lost)
				}
				if took := time.Since(begin); len(to.seen) != row.requests || took != row.takes {
					t.Errorf("%d requests in %s", len(to.seen), took)
				}
				for _, h := range to.seen {
					if h.Get("Idempotency-Key") != to.seen[0].Get("Idempotency-Key") {
						t.Error("the key of a repeat differs")
					}
				}
			})
		})
	}
}

// wire is a receiver that writes arbitrary bytes, and a transport to it without a network.
type wire struct {
	says  string
	hangs bool // afterwards; else the line goes dead
	cert  *tls.Certificate

	mu  sync.Mutex
	got bytes.Buffer // requests as they arrived
}

func (w *wire) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		conn := far
		if w.cert != nil {
			conn = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{*w.cert}})
		}
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return // the near side has hung up: it does not trust the certificate
		}
		dump, err := httputil.DumpRequest(req, true)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.got.Write(dump)
		w.mu.Unlock()
		if _, err := io.WriteString(conn, w.says); err == nil && w.hangs {
			_, _ = io.Copy(io.Discard, conn) // until the near side hangs up
		}
	}()
	return near, nil
}

// fault is a failure of the network or the receiver.
type fault struct {
	name    string
	wire    *wire
	proxy   string // the error of a way that leads nowhere
	refused bool
}

// faults returns faults that try to get the secret into an error.
func faults(cert *tls.Certificate) []fault {
	answer := func(status, header, body string) *wire {
		return &wire{says: fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)}
	}
	return []fault{
		{name: "a closed connection", wire: &wire{}},
		{name: "no response", wire: &wire{hangs: true}},
		{name: "not HTTP", wire: &wire{says: hidden + "\x1b[2J\u202e\r\n\r\n"}},
		{name: "not HTTP, and long", wire: &wire{says: strings.Repeat("\x00"+hidden, 2000) + "\r\n\r\n"}},
		{name: "an invalid header", wire: answer("200 OK", hidden+"\r\n", "")},
		{name: "an invalid length", wire: &wire{says: "HTTP/1.1 200 OK\r\nContent-Length: " + hidden + "\r\n\r\n"}},
		{name: "a status with its own text", wire: answer("500 "+hidden, "", "")},
		{name: "an invalid status", wire: answer("999999 "+hidden, "", "")},
		{name: "a body that ends too soon", wire: &wire{says: "HTTP/1.1 503 X\r\nContent-Length: 9999\r\n\r\n" + hidden}},
		{name: "a body that does not end", wire: &wire{says: "HTTP/1.1 500 X\r\nContent-Length: 9999\r\n\r\n" + hidden, hangs: true}},
		{name: "invalid chunks", wire: &wire{says: "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n" + hidden}},
		{name: "an invalid time", wire: answer("429 X", "Retry-After: "+hidden+"\r\n", "")},
		{name: "a page", wire: answer("403 X", "", "<html>\r\n\r\n\x1b]0;"+hidden+"\x07\u202e\u200b\xff"+strings.Repeat("e\u0301\u0301\u0301\u0301", 999)), refused: true},
		{name: "an echo of the key", wire: answer("401 X", "", "expected a signature by "+hidden+", not by "+hidden+"."), refused: true},
		{name: "half the key at the end of what is read", wire: answer("400 X", "", strings.Repeat(" ", 4096-len(hidden)+1)+hidden), refused: true},
		{name: "half the key at the end of what is shown", wire: answer("400 X", "", strings.Repeat("x", 110)+hidden), refused: true},
		{name: "a redirect", wire: answer("302 X", "Location: https://elsewhere.example.com/"+hidden+"\r\n", ""), refused: true},
		{name: "a redirect that keeps the method", wire: answer("307 X", "Location: /"+hidden+"\r\n", hidden), refused: true},
		{name: "a self-signed certificate", wire: &wire{cert: cert}},
		{name: "an invalid proxy", proxy: `parse "http://me:` + hidden + `@proxy:1x": invalid port`},
		{name: "a proxy with another password", proxy: `invalid proxy address "http://me:pass-of-the-proxy@proxy"`},
	}
}

// No fault gets the secret, the path of the URL or a password into an error, a log or a
// request, or terminal control sequences into an error.
func TestNoFaultShowsTheSecret(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	cert := server.TLS.Certificates[0]
	server.Close()
	for _, f := range faults(&cert) {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				scheme := "http"
				switch {
				case f.proxy != "":
					transport.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New(f.proxy) }
				case f.wire.cert != nil:
					scheme = "https"
				}
				if f.wire != nil {
					transport.DialContext = f.wire.dial
				}
				s := newSender(t, scheme+"://tickets.example.com/hooks/7c1e?k=v", transport)
				err := send(t.Context(), s, digests()["opened"])
				if err == nil || errors.Is(err, notify.ErrRefused) != f.refused {
					t.Fatalf("got %v", err)
				}
				t.Log(err)
				lookAt(t, err.Error(), "7c1e", "k=v", "elsewhere", hidden[:len(hidden)-1], "pass-of-the-proxy")
				var log bytes.Buffer
				slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "err", err, "sender", s)
				slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err, "sender", s)
				sent := ""
				if f.wire != nil {
					f.wire.mu.Lock()
					sent = f.wire.got.String()
					f.wire.mu.Unlock()
				}
				for where, text := range map[string]string{
					"the error": fmt.Sprintf("%v %+v %#v %q", err, err, err, err), "the log": log.String(),
					"the sender": fmt.Sprintf("%v %+v %#v", s, []any{s}, s), "the request": sent,
				} {
					if strings.Contains(text, hidden) {
						t.Errorf("%s contains the secret: %s", where, text)
					}
				}
			})
		})
	}
}

// lookAt checks a text that people read.
func lookAt(t *testing.T, said string, never ...string) {
	t.Helper()
	for _, bad := range append(never, hidden) {
		if strings.Contains(said, bad) {
			t.Errorf("%q is shown: %s", bad, said)
		}
	}
	if strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(said) {
		t.Errorf("it contains invisible characters: %q", said)
	}
	if n := utf8.RuneCountInString(said); n > 300 {
		t.Errorf("it has %d characters", n)
	}
	if !strings.Contains(said, "://tickets.example.com: ") {
		t.Errorf("it does not name the receiver: %s", said)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(400, "no", "1")
	f.Add(503, strings.Repeat(" ", 4000)+hidden+hidden, "99999999999")
	f.Add(200, hidden, "")
	f.Add(429, "\x1b\u202e\xff", "Sat, 01 Jan 2000 00:01:00 GMT")
	f.Fuzz(func(t *testing.T, code int, body, after string) {
		if code < 200 || code > 999 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			to := &receiver{answer: func(w http.ResponseWriter, n int) bool {
				if n > 1 {
					return false
				}
				w.Header().Set("Retry-After", after)
				w.WriteHeader(code)
				_, _ = io.WriteString(w, body)
				return true
			}}
			err := send(t.Context(), newSender(t, "https://tickets.example.com/hooks/7c1e", direct{to}), digests()["opened"])
			if (err == nil) != (len(to.seen) == 2 || code/100 == 2) {
				t.Errorf("%d requests, and %v", len(to.seen), err)
			}
			if err != nil {
				lookAt(t, err.Error())
			}
		})
	})
}

package fakeslack_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// Each row is a fault, what the client sees of it, and whether the message is
// there all the same.
func TestFaults(t *testing.T) {
	cut := func(err error) bool { var e *url.Error; return errors.As(err, &e) }
	tests := []struct {
		name   string
		fault  fakeslack.Fault
		seen   func(error) bool
		stored bool
	}{
		{"none", fakeslack.Fault{}, func(err error) bool { return err == nil }, true},
		{"too many requests", fakeslack.Fault{Status: 429, RetryAfter: 3 * time.Second}, func(err error) bool {
			var e *slack.RateLimitedError
			return errors.As(err, &e) && e.RetryAfter == 3*time.Second
		}, false},
		{"a server error", fakeslack.Fault{Status: 503}, func(err error) bool {
			var e slack.StatusCodeError
			return errors.As(err, &e) && e.Code == 503
		}, false},
		{"a refusal", fakeslack.Fault{Error: "invalid_auth"}, func(err error) bool { return word(err) == "invalid_auth" }, false},
		{"a cut connection", fakeslack.Fault{Cut: true}, cut, false},
		{"a connection cut before the answer", fakeslack.Fault{Cut: true, Stored: true}, cut, true},
		{"a server error after the message", fakeslack.Fault{Status: 500, Stored: true}, func(err error) bool {
			var e slack.StatusCodeError
			return errors.As(err, &e)
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fakeslack.Start(t, workspace())
			s.FailNext(test.fault)
			_, _, err := client(s).PostMessageContext(t.Context(), "C01", fallback)
			if !test.seen(err) {
				t.Errorf("the client saw %v", err)
			}
			if got := len(s.Messages()) == 1; got != test.stored || len(s.Refusals()) != 0 {
				t.Errorf("messages %v, refusals %v", s.Messages(), s.Refusals())
			}
			if _, _, err := client(s).PostMessageContext(t.Context(), "C01", fallback); err != nil {
				t.Errorf("the request after it: %v", err)
			}
			if n := len(s.Requests()); n != 2 {
				t.Errorf("%d requests are known", n)
			}
		})
	}
}

func TestHangingEndsWithTheClient(t *testing.T) {
	s := fakeslack.Start(t, workspace())
	ctx, giveUp := context.WithCancel(t.Context())
	s.Faults(func(fakeslack.Request) fakeslack.Fault {
		giveUp()
		return fakeslack.Fault{Hang: true}
	})
	if _, _, err := client(s).PostMessageContext(ctx, "C01", fallback); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFaultsByChannel(t *testing.T) {
	s := fakeslack.Start(t, workspace())
	s.Faults(func(r fakeslack.Request) fakeslack.Fault {
		if r.Channel == "C01" && r.Method == "chat.postMessage" {
			return fakeslack.Fault{Status: 500}
		}
		return fakeslack.Fault{}
	})
	_, _, err1 := client(s).PostMessageContext(t.Context(), "C01", fallback)
	_, _, err2 := client(s).PostMessageContext(t.Context(), "C02", fallback)
	if err1 == nil || err2 != nil {
		t.Errorf("C01: %v, C02: %v", err1, err2)
	}
}

// Each row is a post to a webhook, and the status and word that it is answered.
func TestWebhook(t *testing.T) {
	blocks := slack.Blocks{BlockSet: []slack.Block{header("x")}}
	tests := []struct {
		name, path string
		message    slack.WebhookMessage
		want       string
	}{
		{"a message", "/services/T0/B0/secret", slack.WebhookMessage{Text: "x", Blocks: &blocks}, "200 ok"},
		{"an unknown path", "/services/T0/B0/guess", slack.WebhookMessage{Text: "x"}, "404 no_service"},
		{"a channel that is gone", "/services/T0/B0/lost", slack.WebhookMessage{Text: "x"}, "404 channel_not_found"},
		{"an archived channel", "/services/T0/B0/old", slack.WebhookMessage{Text: "x"}, "410 channel_is_archived"},
		{"nothing", "/services/T0/B0/secret", slack.WebhookMessage{}, "400 no_text"},
		{"bad blocks", "/services/T0/B0/secret", slack.WebhookMessage{Text: "x", Blocks: &slack.Blocks{BlockSet: []slack.Block{header("")}}}, "400 invalid_blocks"},
		{"a mention", "/services/T0/B0/secret", slack.WebhookMessage{Text: "<!here>"}, "400 invalid_payload"},
		{"a thread", "/services/T0/B0/secret", slack.WebhookMessage{Text: "x", ThreadTimestamp: "1.1"}, "400 invalid_payload"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fakeslack.Start(t, workspace())
			seen := &recorder{}
			_ = slack.PostWebhookCustomHTTPContext(t.Context(), s.URL()+test.path, &http.Client{Transport: seen}, &test.message)
			if seen.answer != test.want {
				t.Errorf("got %q, want %q", seen.answer, test.want)
			}
			if got, want := len(s.Messages()) == 1, strings.HasPrefix(test.want, "200"); got != want || len(s.Refusals()) == 1 == want {
				t.Errorf("messages %v, refusals %v", s.Messages(), s.Refusals())
			}
		})
	}
}

// recorder keeps the last answer, which the client does not show.
type recorder struct{ answer string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		resp.Body = io.NopCloser(strings.NewReader(string(body)))
		r.answer = resp.Status[:3] + " " + string(body)
	}
	return resp, err
}

// conversation is what a script decides for a few requests of two acts.
func conversation(s *fakeslack.Script) []fakeslack.Fault {
	var out []fakeslack.Fault
	for act := range 2 {
		s.Begin(act)
		for range 3 {
			out = append(out, s.Decide(fakeslack.Request{Method: "chat.postMessage", Channel: "C0A"}), s.Decide(fakeslack.Request{Method: "chat.postMessage", Channel: "C0A", Thread: "1.2"}))
		}
	}
	return out
}

func TestScriptIsReadAsItIsWritten(t *testing.T) {
	script := fakeslack.NewScript(fakeslack.Seeded(7, func(act int) float64 { return 0.5 * float64(act) }))
	first := conversation(script)
	if script.String() == "" || len(script.Done()) == len(first) {
		t.Fatalf("%d faults came about in %d requests", len(script.Done()), len(first))
	}
	if cmp.Diff(make([]fakeslack.Fault, 6), first[:6]) != "" {
		t.Error("there are faults without any chance")
	}
	pick, err := fakeslack.ParseScript(script.String())
	if err != nil {
		t.Fatal(err)
	}
	again := fakeslack.NewScript(pick)
	if diff := cmp.Diff(first, conversation(again)); diff != "" {
		t.Errorf("played again (-first +again):\n%s", diff)
	}
	if diff := cmp.Diff(script.String(), again.String()); diff != "" {
		t.Errorf("written again (-first +again):\n%s", diff)
	}
}

func TestScriptNamesRequests(t *testing.T) {
	pick, err := fakeslack.ParseScript(`1 chat.postMessage C0A reply #2: {"status":429,"retryAfter":1000000000}` + "\n")
	if err != nil {
		t.Fatal(err)
	}
	want := make([]fakeslack.Fault, 12)
	want[9] = fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Second}
	if diff := cmp.Diff(want, conversation(fakeslack.NewScript(pick))); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for _, text := range []string{"chat.postMessage", "1 chat.postMessage C0A #1: burn"} {
		if _, err := fakeslack.ParseScript(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

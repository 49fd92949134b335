package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eventuallytrue/audit/notify"
)

// reply is one answer of a receiver that misbehaves.
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

func TestAnswers(t *testing.T) {
	const host = "post digest to https://tickets.example.com: "
	for _, row := range []struct {
		name     string
		replies  []reply
		requests int
		takes    time.Duration
		err      string // empty: it was sent
		refused  bool
	}{
		{"what is taken is sent once", nil, 1, 0, "", false},
		{"any 2xx is a yes", []reply{{code: 204}}, 1, 0, "", false},
		{"a failure is tried again after a second", []reply{{code: 500}}, 2, time.Second, "", false},
		{"two are, the second after three more", []reply{{code: 502}, {code: 504}}, 3, 4 * time.Second, "", false},
		{"three are enough for one sweep", times(9, reply{code: 500, body: "boom"}), 3, 4 * time.Second, host + "answered 500 Internal Server Error: boom", false},
		{"a code without a name is shown as it is", times(9, reply{code: 599}), 3, 4 * time.Second, host + "answered 599", false},
		{"a request that came too slowly is sent again", []reply{{code: 408}}, 2, time.Second, "", false},
		{"a key that is at work may pass", []reply{{code: 409}}, 2, time.Second, "", false},
		{"a limit without a time is a failure", times(9, reply{code: 429}), 3, 4 * time.Second, host + "answered 429 Too Many Requests", false},
		{"a limit is obeyed to the second", []reply{{code: 429, after: "30"}}, 2, 30 * time.Second, "", false},
		{"so is maintenance", []reply{{code: 503, after: "90"}}, 2, 90 * time.Second, "", false},
		{"and what is said as a date", []reply{{code: 503, after: "Sat, 01 Jan 2000 00:01:00 GMT"}}, 2, time.Minute, "", false},
		{"a date that has passed is a second", []reply{{code: 503, after: "Fri, 31 Dec 1999 00:00:00 GMT"}}, 2, time.Second, "", false},
		{"nobody is asked without end at once", times(9, reply{code: 429, after: "0"}), 10, 9 * time.Second, "", false},
		{"waiting uses up no try", append(times(5, reply{code: 429, after: "7"}), times(2, reply{code: 500})...), 8, 39 * time.Second, "", false},
		{"a time that is none is none", times(9, reply{code: 429, after: "-5"}), 3, 4 * time.Second, host + "answered 429 Too Many Requests", false},
		{"so is one beyond all numbers", times(9, reply{code: 429, after: strings.Repeat("9", 40)}), 3, 4 * time.Second, host + "answered 429 Too Many Requests", false},
		{
			"nobody waits for longer than there is time",
			[]reply{{code: 429, after: "3600", body: "slow down"}},
			1, 0,
			host + "wait 1h0m0s: it asked for that when it answered 429 Too Many Requests: slow down", false,
		},
		{"a year is a day", []reply{{code: 503, after: "31536000"}}, 1, 0, host + "wait 24h0m0s: it asked for that when it answered 503 Service Unavailable", false},
		{"what is refused is not tried again", []reply{{code: 403, body: "who are you?\n"}}, 1, 0, host + "answered 403 Forbidden: who are you?", true},
		{"nor is what is too large", []reply{{code: 413}}, 1, 0, host + "answered 413 Request Entity Too Large", true},
		{"nor what is gone", []reply{{code: 410, after: "5"}}, 1, 0, host + "answered 410 Gone", true},
		{"nor what is elsewhere", []reply{{code: 302, body: "/login"}}, 1, 0, host + "answered 302 Found, and redirects are not followed: write the URL that it leads to into the config", true},
		{"a refusal after a failure is one", []reply{{code: 500}, {code: 401}}, 2, time.Second, host + "answered 401 Unauthorized", true},
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
					t.Errorf("it says %q", got)
				}
				if took := time.Since(begin); len(to.seen) != row.requests || took != row.takes {
					t.Errorf("%d requests in %s", len(to.seen), took)
				}
				for _, h := range to.seen {
					if h.Get("Idempotency-Key") != to.seen[0].Get("Idempotency-Key") {
						t.Error("the key of a repeat is another")
					}
				}
			})
		})
	}
}

package webhook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/webhook"
)

// signed returns a body and the header that it arrives with now.
func signed(t *testing.T) (body, header string) {
	t.Helper()
	to := &receiver{}
	if err := send(t.Context(), newSender(t, "https://tickets.example.com", direct{to}), digests()["opened"]); err != nil {
		t.Fatal(err)
	}
	return to.bodies[0], to.seen[0].Get(webhook.SignatureHeader)
}

// forgeries are what a receiver has to tell from what is genuine.
func forgeries(body, header string, now time.Time) []struct {
	name, secret, body, header string
	ok                         bool
} {
	t, v1, _ := strings.Cut(header, ",")
	later := "t=" + strconv.FormatInt(now.Unix()+1, 10)
	return []struct {
		name, secret, body, header string
		ok                         bool
	}{
		{"what is genuine is taken", hidden, body, header, true},
		{"so is what has a signature of another version beside it", hidden, body, t + ",v0=00," + v1, true},
		{"and one of another secret, while secrets change", hidden, body, t + ",v1=00," + v1, true},
		{"another secret signs otherwise", hidden + "x", body, header, false},
		{"a body that was changed is not", hidden, body + " ", header, false},
		{"nor is a time that was changed", hidden, body, later + "," + v1, false},
		{"nor one that stands twice", hidden, body, later + "," + header, false},
		{"nor what has no signature", hidden, body, t, false},
		{"nor what has no time", hidden, body, v1, false},
		{"nor what has a time that is none", hidden, body, "t=now," + v1, false},
		{"nor what has nothing", hidden, body, "", false},
	}
}

func TestSignatures(t *testing.T) {
	body, header := signed(t)
	for _, row := range forgeries(body, header, time.Now()) {
		t.Run(row.name, func(t *testing.T) {
			if err := verify(row.secret, row.header, []byte(row.body), time.Now()); (err == nil) != row.ok {
				t.Errorf("it says %v", err)
			}
		})
	}
	if err := verify(hidden, header, []byte(body), time.Now().Add(6*time.Minute)); err == nil {
		t.Error("what is sent again after six minutes is taken")
	}
}

// The function that README.md shows judges as the one in Go does.
func TestTheFunctionThatIsShown(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(code, "```")
	if !found {
		t.Fatal("README.md shows no Python")
	}
	body, header := signed(t)
	rows := forgeries(body, header, time.Now())
	var calls [][]any
	for _, row := range rows {
		calls = append(calls, []any{row.secret, row.header, row.body, 300})
	}
	calls = append(calls, []any{hidden, header, body, -1})
	stdin, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", code+`
import json, sys
print(json.dumps([verify(s.encode(), h, b.encode(), t) for s, h, b, t in json.load(sys.stdin)]))`)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(calls) {
		t.Fatalf("%d answers to %d calls: %v", len(got), len(calls), err)
	}
	for i, row := range rows {
		if got[i] != row.ok {
			t.Errorf("%s: it says %t", row.name, got[i])
		}
	}
	if got[len(rows)] {
		t.Error("it takes what is older than it may be")
	}
}

func TestEachTryIsSignedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{answer: replies(reply{code: 503, after: "3600"})}
		if err := send(t.Context(), newSender(t, "https://tickets.example.com", direct{to}), digests()["opened"]); err != nil {
			t.Fatal(err)
		}
		first, second := to.seen[0].Get(webhook.SignatureHeader), to.seen[1].Get(webhook.SignatureHeader)
		if first == second || len(to.bodies) != 1 {
			t.Errorf("signed %s, and an hour later %s", first, second)
		}
	})
}

func TestNew(t *testing.T) {
	holding := func(content string) func() (notify.Secret, error) {
		return func() (notify.Secret, error) { return notify.NewSecret([]byte(content)) }
	}
	for _, row := range []struct {
		name string
		o    webhook.Options
		err  string
	}{
		{"no URL", webhook.Options{Secret: secret}, "read the URL of the webhook: it is no http or https URL with a host"},
		{"a URL that is none", webhook.Options{URL: "https://x:" + hidden, Secret: secret}, "read the URL of the webhook: it is no http or https URL with a host"},
		{"a file", webhook.Options{URL: "file://host/" + hidden, Secret: secret}, "read the URL of the webhook: it is no http or https URL with a host"},
		{"a password", webhook.Options{URL: "https://me:" + hidden + "@x", Secret: secret}, "read the URL of the webhook: it holds a user or password"},
		{"no secret", webhook.Options{URL: "https://x", Secret: holding("\n")}, "read the secret of the webhook: it is empty"},
		{"a short secret", webhook.Options{URL: "https://x", Secret: holding("fifteen-of-them")}, "read the secret of the webhook: it has fewer than 16 characters"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := webhook.New(row.o); err == nil || err.Error() != row.err {
				t.Errorf("it says %v", err)
			}
		})
	}
	if s := newSender(t, "http://x", nil); s.Name() != "webhook" {
		t.Errorf("its name is %q", s.Name())
	}
}

func TestAMessageOfAnotherSenderIsNotSent(t *testing.T) {
	to := &receiver{}
	s := newSender(t, "https://tickets.example.com", direct{to})
	m := s.Plan(digests()["opened"])[0]
	m.Body = http.Header{}
	_, err := s.Send(t.Context(), notify.Recipient{}, m, place)
	if err == nil || errors.Is(err, notify.ErrRefused) || len(to.seen) != 0 {
		t.Errorf("it says %v after %d requests", err, len(to.seen))
	}
}

func TestASecretThatIsRotatedSignsFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &receiver{}
		var content atomic.Value
		content.Store("the-key-of-last-year")
		s, err := webhook.New(webhook.Options{
			URL: "https://tickets.example.com", Version: "v1.2.3", Transport: direct{to},
			Secret: func() (notify.Secret, error) { return notify.NewSecret([]byte(content.Load().(string))) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := send(t.Context(), s, digests()["opened"]); !errors.Is(err, notify.ErrRefused) {
			t.Errorf("with last year's key it says %v", err)
		}
		content.Store("")
		const empty = "post digest to https://tickets.example.com: read the secret of the webhook: it is empty"
		if err := send(t.Context(), s, digests()["opened"]); err == nil || err.Error() != empty || errors.Is(err, notify.ErrRefused) {
			t.Errorf("while the file is written it says %v", err)
		}
		time.AfterFunc(2*time.Second, func() { content.Store(hidden) })
		if err := send(t.Context(), s, digests()["opened"]); err != nil || len(to.bodies) != 1 {
			t.Errorf("with this year's key it says %v", err)
		}
	})
}

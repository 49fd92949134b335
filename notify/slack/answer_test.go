package slack_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
)

// A redirect is not followed: where it leads to, anything may answer with a
// success, and would get the message, and the token with a 307.
func TestRedirects(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		followed := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/login" {
				http.Redirect(w, r, "/login", status)
				return
			}
			followed = true
			fmt.Fprint(w, `{"ok":true,"channel":"C01","ts":"1.000001"}`)
		}))
		t.Cleanup(server.Close)
		clock := newTicker().clock()
		bot := sender.NewBot(secret(token), server.URL+"/api/", sender.Options{Clock: clock})
		hook := sender.NewWebhook(func(path string) (notify.Secret, error) { return notify.NewSecret([]byte(server.URL + path)) },
			[]string{strings.TrimPrefix(server.URL, "http://")}, sender.Options{Clock: clock})
		for _, by := range []notify.Sender{bot, hook} {
			_, err := by.Send(t.Context(), to(hookURI), one(t, by), audit.MessageRef{})
			check(t, err, "redirect", true)
		}
		if followed {
			t.Errorf("a redirect by %d was followed", status)
		}
	}
}

// What is no answer of Slack's is no success.
func TestAnswersOfOthers(t *testing.T) {
	for _, answer := range []string{"", "<html>", "{}", "[]", "null", `{"ok":false}`, `{"ok":true}`, `{"ok":true,"channel":"C01"}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		t.Cleanup(server.Close)
		bot := sender.NewBot(secret(token), server.URL+"/api/", sender.Options{Clock: newTicker().clock()})
		hook := sender.NewWebhook(func(path string) (notify.Secret, error) { return notify.NewSecret([]byte(server.URL + path)) },
			[]string{strings.TrimPrefix(server.URL, "http://")}, sender.Options{Clock: newTicker().clock()})
		for _, by := range []notify.Sender{bot, hook} {
			if _, err := by.Send(t.Context(), to(hookURI), one(t, by), audit.MessageRef{}); err == nil || errors.Is(err, notify.ErrRefused) {
				t.Errorf("%s: %q: %v", by.Name(), answer, err)
			}
		}
	}
}

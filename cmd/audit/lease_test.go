package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestProbeRemembersTheLastResponse(t *testing.T) {
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	r := &probe{}
	client := &http.Client{Transport: r.watch(http.DefaultTransport)}
	ask := func() {
		if answer, err := client.Get(server.URL); err == nil {
			answer.Body.Close()
		}
	}
	for _, tt := range []struct {
		code int
		want bool
	}{{200, true}, {503, false}, {403, true}, {429, false}, {409, true}} {
		code = tt.code
		if ask(); (r.failure() == nil) != tt.want {
			t.Errorf("after %d: %v", tt.code, r.failure())
		}
	}
	server.Close()
	if ask(); !errors.Is(r.failure(), errUnreachable) {
		t.Errorf("without a server: %v", r.failure())
	}
}

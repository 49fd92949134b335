package kube

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestReasonIsOneLineWithoutSecrets(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	get := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://bob:secret@api/api/v1/pods?continue=secret", Err: err}
	}
	tests := map[string]struct {
		err  error
		want string
	}{
		"a forbidden kind is not named twice": {
			apierrors.NewForbidden(pods, "", errors.New(`User "bob" cannot list resource "pods"`)),
			`User "bob" cannot list resource "pods"`,
		},
		"the URL of a request is left out": {
			fmt.Errorf("list: %w", get(errors.New("connection refused"))), "connection refused",
		},
		"the password of a proxy is left out": {
			get(errors.New("proxyconnect tcp: http://bob:secret@proxy:3128 is away")),
			"proxyconnect tcp: http://proxy:3128 is away",
		},
		"lines, escapes and marks of direction become spaces": {
			errors.New("one\r\ntwo\x1b[2J \u202ethree\u2066"), "one two [2J three",
		},
		"letters of all scripts stay":   {errors.New("größer 大"), "größer 大"},
		"bytes that are no text go":     {errors.New("a\xffb"), "a\ufffdb"},
		"a page of HTML is cut short":   {errors.New(strings.Repeat("ä", 300)), strings.Repeat("ä", 239) + "…"},
		"the code of an answer is told": {apierrors.NewUnauthorized("Unauthorized"), "HTTP 401: Unauthorized"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Reason(tt.err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

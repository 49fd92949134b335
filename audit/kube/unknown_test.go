package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/audit/kube/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const cannotList = `ingresses.networking.k8s.io is forbidden: User "guest" cannot list resource "ingresses"`

// unknown is a way in which ingresses cannot be read, and what is said of it.
type unknown struct {
	decide kubetest.Decide
	status snapshot.Status
	reason string
}

func TestIngressesAreUnknownWhereTheServerFails(t *testing.T) {
	testUnknown(t, map[string]unknown{
		"where the list expires again and again": {
			kubetest.First(always, laterPage, kubetest.Expire()),
			snapshot.Failed, "the list expired 4 times before it was complete",
		},
		"where the server is busy for good": {
			kubetest.First(always, laterPage, kubetest.TooManyRequests(-1)),
			snapshot.Failed, "HTTP 429: too many requests, please try again later",
		},
		"where the server errs for good": {
			kubetest.First(always, laterPage, kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd\nis\x1b[31m away")),
			snapshot.Failed, "HTTP 500: etcd is [31m away",
		},
		"where every answer is cut": {
			kubetest.First(always, laterPage, kubetest.Cut(30)),
			snapshot.Failed, "the answer broke off: unexpected EOF",
		},
	})
}

func TestIngressesAreUnknownWhereTheServerRefuses(t *testing.T) {
	testUnknown(t, map[string]unknown{
		"where the account may not list them": {
			kubetest.First(always, firstPage, kubetest.Fail(403, metav1.StatusReasonForbidden, cannotList)),
			snapshot.Forbidden, `User "guest" cannot list resource "ingresses"`,
		},
		"where the right to list them ends between two pages": {
			kubetest.First(always, laterPage, kubetest.Fail(403, metav1.StatusReasonForbidden, cannotList)),
			snapshot.Forbidden, `User "guest" cannot list resource "ingresses"`,
		},
		"where a gateway lets nobody pass": {
			kubetest.First(always, anything, kubetest.Text(403, "no entry")),
			snapshot.Forbidden, "no entry (get ingresses.networking.k8s.io)",
		},
		"where the login has run out": {
			kubetest.First(always, anything, kubetest.Fail(401, metav1.StatusReasonUnauthorized, "Unauthorized")),
			snapshot.Failed, "HTTP 401: Unauthorized",
		},
		"where the request is wrong": {
			kubetest.First(always, laterPage, kubetest.Fail(400, metav1.StatusReasonBadRequest, "continue key is not valid")),
			snapshot.Failed, "HTTP 400: continue key is not valid",
		},
	})
}

func TestIngressesAreUnknownWhereTheServerIsNone(t *testing.T) {
	testUnknown(t, map[string]unknown{
		"where the server says both that it serves them and that it does not": {
			kubetest.First(always, anyPage, kubetest.Text(404, "404 page not found")),
			snapshot.Failed, "the server answers that it does not know this kind, but says elsewhere that it serves it",
		},
		"where the address is that of something else": {
			kubetest.First(always, anything, kubetest.Text(404, "not here")),
			snapshot.Failed, "the server does not say what it serves: is it a Kubernetes API server?",
		},
		"where everything is an empty object": {
			kubetest.First(always, anything, ok(`{}`)),
			snapshot.Failed, "the answer is no list: it has no resource version",
		},
		"where the pages have no end": {
			kubetest.First(always, laterPage, ok(`{"metadata":{"resourceVersion":"7","continue":"2"},"items":[]}`)),
			snapshot.Failed, "the server names the same page twice in a row",
		},
	})
}

func testUnknown(t *testing.T, tests map[string]unknown) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), tt.decide)), kube.Options{})
			s := read(t, source, ingresses)
			want := []snapshot.Read{{Kind: snapshot.Ingresses, Version: "v1", Status: tt.status, Err: tt.reason}}
			if diff := cmp.Diff(want, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
			if names := ingressNames(s); len(names) > 0 {
				t.Errorf("a part of the list came through: %v", names)
			}
		})
	}
}

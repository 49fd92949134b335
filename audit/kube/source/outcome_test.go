package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const cannotList = `this is forbidden: User "guest" cannot list them`

// unknown is a way in which a kind cannot be read, and how it is reported.
type unknown struct {
	decide kubetest.Decide
	status snapshot.Status
	reason string
}

// failures are failures of the server.
func failures(resource string) map[string]unknown {
	later := kubetest.Page(resource, true)
	return map[string]unknown{
		"where the list expires again and again": {
			kubetest.First(always, later, kubetest.Expire()),
			snapshot.Failed, "the list expired 4 times before it was complete",
		},
		"where the server stays busy": {
			kubetest.First(always, later, kubetest.TooManyRequests(-1)),
			snapshot.Failed, "HTTP 429: too many requests, please try again later",
		},
		"where the server fails permanently": {
			kubetest.First(always, later, kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd\nis\x1b[31m away")),
			snapshot.Failed, "HTTP 500: etcd is [31m away",
		},
		"where every response is truncated": {
			kubetest.First(always, later, kubetest.Cut(30)),
			snapshot.Failed, "the response ended early: unexpected EOF",
		},
		"where the pages have no end": {
			kubetest.First(always, later, ok(`{"metadata":{"resourceVersion":"7","continue":"2"},"items":[]}`)),
			snapshot.Failed, "the server sent the same page token twice",
		},
		"where every page is an empty object": {
			kubetest.First(always, kubetest.Page(resource, false), ok(`{}`)),
			snapshot.Failed, "the response is not a list: it has no resource version",
		},
	}
}

// refusals are refusals of the server, and of proxies in front of it.
func refusals(resource string) map[string]unknown {
	first, later := kubetest.Page(resource, false), kubetest.Page(resource, true)
	return map[string]unknown{
		"where the account may not list them": {
			kubetest.First(always, first, kubetest.Fail(403, metav1.StatusReasonForbidden, cannotList)),
			snapshot.Forbidden, `User "guest" cannot list them`,
		},
		"where the right to list them ends between two pages": {
			kubetest.First(always, later, kubetest.Fail(403, metav1.StatusReasonForbidden, cannotList)),
			snapshot.Forbidden, `User "guest" cannot list them`,
		},
		"where the login has expired": {
			kubetest.First(always, first, kubetest.Fail(401, metav1.StatusReasonUnauthorized, "Unauthorized")),
			snapshot.Failed, "HTTP 401: Unauthorized",
		},
		"where the request is wrong": {
			kubetest.First(always, later, kubetest.Fail(400, metav1.StatusReasonBadRequest, "continue key is not valid")),
			snapshot.Failed, "HTTP 400: continue key is not valid",
		},
		"where the server says both that it serves them and that it does not": {
			kubetest.First(always, first, kubetest.Text(404, "404 page not found")),
			snapshot.Failed, "the server responds that it does not know this kind, but discovery says that it serves it",
		},
	}
}

func TestIngressesAreUnknownWhereTheServerFails(t *testing.T) {
	testUnknown(t, snapshot.Ingresses, failures("ingresses"))
}

func TestIngressesAreUnknownWhereTheServerRefuses(t *testing.T) {
	testUnknown(t, snapshot.Ingresses, refusals("ingresses"))
	testUnknown(t, snapshot.Ingresses, map[string]unknown{
		"where a gateway refuses everyone": {
			kubetest.First(always, anything, kubetest.Text(403, "no entry")),
			snapshot.Forbidden, "no entry (get ingresses.networking.k8s.io)",
		},
		"where the address belongs to another server": {
			kubetest.First(always, anything, kubetest.Text(404, "not here")),
			snapshot.Failed, "the server does not say what it serves: is it a Kubernetes API server?",
		},
	})
}

func testUnknown(t *testing.T, kind snapshot.Kind, tests map[string]unknown) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), tt.decide)), source.Options{})
			s := read(t, source, []snapshot.Kind{kind})
			want := []snapshot.Read{{Kind: kind, Version: "v1", Status: tt.status, Err: tt.reason}}
			if diff := cmp.Diff(want, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
			if names := append(ingressNames(s), routeNames(s)...); len(names) > 0 {
				t.Errorf("a part of the list came through: %v", names)
			}
		})
	}
}

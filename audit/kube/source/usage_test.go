package source_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// tally counts what a server is asked and answers.
type tally struct {
	next            http.Handler
	requests, bytes atomic.Int64
}

func (s *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	s.next.ServeHTTP(tallied{w, s}, r)
}

type tallied struct {
	http.ResponseWriter
	tally *tally
}

func (w tallied) Write(p []byte) (int, error) {
	w.tally.bytes.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

func TestUsageIsWhatTheServerSaw(t *testing.T) {
	for _, tt := range []struct {
		name    string
		decide  kubetest.Decide
		retries int64
	}{
		{"three pages are no retries", kubetest.First(0, anything, nil), 0},
		{"a list that begins anew retries nothing", kubetest.First(1, laterPage, kubetest.Expire()), 0},
		{"client-go's own tries count", kubetest.First(3, laterPage, kubetest.TooManyRequests(0)), 3},
		{"tries beyond those count", kubetest.First(15, laterPage, kubetest.TooManyRequests(0)), 15},
		{"a failure of the server is tried again", kubetest.First(2, firstPage, kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd")), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := &tally{next: kubetest.Disturb(newFakeAPI(), tt.decide)}
			source := newSource(t, serve(t, server), source.Options{})
			read(t, source, ingresses)
			want := kube.Usage{Requests: server.requests.Load(), Retries: tt.retries, Bytes: server.bytes.Load()}
			if diff := cmp.Diff(want, source.Usage()); diff != "" {
				t.Errorf("usage (-what the server saw +got):\n%s", diff)
			}
			before := source.Usage()
			read(t, source, ingresses)
			if more := source.Usage().Minus(before); more.Requests != 3 || more.Retries != 0 || more.Bytes <= 0 {
				t.Errorf("a second, quiet reading used %+v, want three requests", more)
			}
		})
	}
}

func TestUsageOfDiscoveryIsNoRetry(t *testing.T) {
	source := newSource(t, serve(t, newFakeAPI()), source.Options{})
	read(t, source, routes)
	if u := source.Usage(); u.Requests < 4 || u.Retries != 0 {
		t.Errorf("usage is %+v, want the discovery, three pages and no retries", u)
	}
}

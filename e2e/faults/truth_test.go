package faults

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// mayStale reports whether a list may be an earlier one: those of the findings, and
// all of the first look at the world. The second look, which is one narrowed to
// namespaces or made under the lease, is honest: it is the defence against the rest.
func mayStale(publishing func() bool) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/findings") {
			return r.Method == http.MethodGet
		}
		return r.Method == http.MethodGet && r.URL.Query().Get("limit") != "" && r.URL.Query().Get("fieldSelector") == "" && !publishing()
	}
}

// truth is what a sweep finds that nobody disturbs.
type truth map[string]audit.Finding

// look returns the truth of the world as it is.
func (s *stage) look(t *testing.T) truth {
	t.Helper()
	if s.truth != nil {
		return s.truth
	}
	res, err := audit.Sweep(t.Context(), s.source, catalog.All(), settings(), s.clock.Now, nil)
	if err != nil || !res.Complete() {
		// The test may be elsewhere: the world also turns beside it.
		t.Errorf("look at the world: %v", err)
		return truth{}
	}
	s.truth = truth{}
	for _, f := range res.Findings {
		s.truth[f.ID] = store.FitFinding(f)
	}
	return s.truth
}

// liesTo reports whether the sweep was answered with lists of before, or was told by
// what speaks like an API server that a finding is not there which is.
func (s *stage) liesTo() bool {
	prefix := fmt.Sprintf("%d ", s.act)
	for step, fault := range s.script.Applied() {
		gone := fault == kubetest.Fault{Kind: kubetest.Refused, N: http.StatusNotFound} && strings.Contains(step, "/findings/")
		if strings.HasPrefix(step, prefix) && (fault.Kind == kubetest.Stale || fault.Kind == kubetest.Repeated || gone) {
			return true
		}
	}
	return false
}

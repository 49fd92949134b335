package kubetest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is the one Cluster of a test binary, started when a test first asks
// for it. A package that wants one says, in a test file:
//
//	var control = &kubetest.Shared{}
//
//	func TestMain(m *testing.M) { os.Exit(control.Main(m)) }
//
// and in its tests control.Cluster(t).
type Shared struct {
	// Options are what the cluster is started with.
	Options Options

	mu      sync.Mutex
	started bool
	cluster *Cluster
	err     error
}

// Main runs the tests of the binary and stops the cluster where one was
// started. It returns the code to exit with.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.cluster == nil {
		return code
	}
	if err := s.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Cluster returns the cluster, empty. Under -short the test is skipped.
//
// The cluster belongs to the test and its subtests until it ends. Other tests
// that ask, parallel ones too, wait for their turn; so a test asks only once.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an API server")
	}
	s.mu.Lock()
	t.Cleanup(s.mu.Unlock)
	if !s.started {
		s.started = true
		s.cluster, s.err = Start(t.Context(), s.Options)
	} else if s.err == nil {
		s.err = s.cluster.Reset(t.Context())
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}

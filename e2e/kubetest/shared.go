package kubetest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is the Cluster of a test binary, which starts when a test first needs it. A
// package uses it like this, in a test file:
//
//	var control = &kubetest.Shared{}
//
//	func TestMain(m *testing.M) { os.Exit(control.Main(m)) }
//
// and calls control.Cluster(t) in its tests.
type Shared struct {
	// Options configure the cluster.
	Options Options

	mu      sync.Mutex
	started bool
	hasCRDs bool // those of CRDFolders are installed
	cluster *Cluster
	err     error
}

// Main runs the tests of the binary and stops the cluster if one was started. It
// returns the exit code.
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

// Cluster returns the cluster, empty. With -short it skips the test.
//
// The cluster belongs to the test and its subtests until the test ends. Other tests,
// including parallel ones, wait for it, so a test must call Cluster only once.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	return s.prepare(t, false)
}

// ClusterWithCRDs returns the cluster as Cluster does, but with the definitions in
// CRDFolders. They stay installed for the next test, so a test must not change them.
func (s *Shared) ClusterWithCRDs(t testing.TB) *Cluster {
	t.Helper()
	return s.prepare(t, true)
}

func (s *Shared) prepare(t testing.TB, withCRDs bool) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an API server")
	}
	s.mu.Lock()
	t.Cleanup(s.mu.Unlock)
	if !s.started {
		s.started = true
		s.cluster, s.err = Start(t.Context(), s.Options)
	}
	if s.err == nil {
		s.err = s.clean(t.Context(), withCRDs)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}

// clean empties the cluster and makes sure that it has the definitions in CRDFolders,
// or none.
func (s *Shared) clean(ctx context.Context, withCRDs bool) error {
	if withCRDs && s.hasCRDs {
		return s.cluster.Empty(ctx)
	}
	s.hasCRDs = false
	if err := s.cluster.Reset(ctx); err != nil || !withCRDs {
		return err
	}
	folders, err := CRDFolders(ctx)
	if err != nil {
		return err
	}
	if err := s.cluster.InstallCRDs(ctx, folders...); err != nil {
		return err
	}
	s.hasCRDs = true
	return nil
}

// StartProxy starts a Proxy and closes it when the test ends.
func (c *Cluster) StartProxy(t testing.TB, decide Decide) *Proxy {
	t.Helper()
	p, err := c.Proxy(t.TempDir(), decide)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

package kubetest

import (
	"context"
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
	defined bool // has the custom kinds of Definitions
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
	return s.prepare(t, false)
}

// Defined returns the cluster as Cluster does, but with the custom kinds of
// Definitions. They stay from one such test to the next, so a test must leave
// them as they are.
func (s *Shared) Defined(t testing.TB) *Cluster {
	t.Helper()
	return s.prepare(t, true)
}

func (s *Shared) prepare(t testing.TB, define bool) *Cluster {
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
		s.err = s.clean(t.Context(), define)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}

// clean empties the cluster, and sees to it that it has the custom kinds of
// Definitions, or none.
func (s *Shared) clean(ctx context.Context, define bool) error {
	if define && s.defined {
		return s.cluster.Empty(ctx)
	}
	s.defined = false
	if err := s.cluster.Reset(ctx); err != nil || !define {
		return err
	}
	folders, err := Definitions(ctx)
	if err != nil {
		return err
	}
	if err := s.cluster.Install(ctx, folders...); err != nil {
		return err
	}
	s.defined = true
	return nil
}

// StartProxy starts a Proxy that is closed when the test ends.
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

package node

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// Shared is the one Node of a test binary, started when a test first asks for it.
// A package that wants one says, in a test file:
//
//	var shared = &node.Shared{}
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
// and in its tests shared.Node(t).
type Shared struct {
	mu      sync.Mutex
	started bool
	node    *Node
	err     error
}

const (
	// wanted is the variable without which no node is made: it takes minutes.
	wanted = "AUDIT_NODE"
	// required is the variable with which it is a failure, and no reason to skip a
	// test, that the machine lacks something.
	required = "AUDIT_REQUIRE_TOOLS"
	// role is the variable that tells the processes of a test binary apart: what
	// `go test` started has none, the first of the namespaces is their init, and
	// the one that init starts runs the tests.
	role      = "KUBETEST_NODE_ROLE"
	roleInit  = "init"
	roleTests = "tests"
	// folder is the variable with the folder of the node.
	folder = "KUBETEST_NODE_FOLDER"
)

// Main runs the tests of the binary, in namespaces of their own where a node is
// wanted and can be made. It returns the code to exit with.
func (s *Shared) Main(m *testing.M) int {
	switch os.Getenv(role) {
	case roleInit:
		return beInit()
	case roleTests:
		return s.run(m)
	}
	if os.Getenv(wanted) == "" || len(Missing(context.Background())) > 0 {
		return m.Run() // each test says why it is skipped
	}
	code, err := enter()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func (s *Shared) run(m *testing.M) int {
	code := m.Run()
	if s.node == nil {
		return code
	}
	if err := s.node.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Node returns the node. A test that asks for it is skipped where none is wanted,
// or the machine lacks something, unless AUDIT_REQUIRE_TOOLS is set.
//
// What a test makes there, the next one finds: a test works in namespaces of its
// own and removes what it made.
func (s *Shared) Node(t testing.TB) *Node {
	t.Helper()
	if os.Getenv(wanted) == "" {
		t.Skip("needs a whole node: run make e2e")
	}
	if os.Getenv(role) != roleTests {
		missing := "this machine lacks, for a node: " + strings.Join(Missing(t.Context()), "; ")
		if os.Getenv(required) != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started = true
		s.node, s.err = start(t.Context(), os.Getenv(folder))
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.node
}

package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// Shared is the Node of a test binary, which starts when a test first needs it. A
// package uses it like this, in a test file:
//
//	var shared = &node.Shared{}
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
// and calls shared.Node(t) in its tests.
type Shared struct {
	mu      sync.Mutex
	started bool
	node    *Node
	err     error
}

const (
	// wanted is the environment variable that enables the node, which takes
	// minutes.
	wanted = "AUDIT_NODE"
	// required is the environment variable that makes tests fail, not skip, if the
	// machine lacks something.
	required = "AUDIT_REQUIRE_TOOLS"
	// role is the environment variable with the role of a process of the test
	// binary. It is empty for the one that go test starts, "init" for the first
	// process in the namespaces, and "tests" for the one that init starts.
	role      = "KUBETEST_NODE_ROLE"
	roleInit  = "init"
	roleTests = "tests"
	// folder is the environment variable with the folder of the node.
	folder = "KUBETEST_NODE_FOLDER"
)

// Main runs the tests of the binary, in new namespaces if the node is enabled and
// possible. It returns the exit code.
func (s *Shared) Main(m *testing.M) int {
	switch os.Getenv(role) {
	case roleInit:
		return runInit()
	case roleTests:
		return s.run(m)
	}
	if os.Getenv(wanted) == "" || len(Missing(context.Background())) > 0 {
		return m.Run() // each test logs why it is skipped
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

// Node returns the node. It skips the test if the node is not enabled, or if the machine
// lacks something, unless AUDIT_REQUIRE_TOOLS is set.
//
// The node is not reset between tests: a test uses its own namespaces and removes what
// it created.
func (s *Shared) Node(t testing.TB) *Node {
	t.Helper()
	if os.Getenv(wanted) == "" {
		t.Skip("needs a whole node: run make e2e")
	}
	if os.Getenv(role) != roleTests {
		missing := "a node needs: " + strings.Join(Missing(t.Context()), "; ")
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

// packages are the commands that a node needs, and their packages in Debian.
var packages = []struct{ command, pkg string }{
	{"conntrack", "conntrack"},
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"ip", "iproute2"},
	{"iptables", "iptables"},
	{plugins + "/bridge", "containernetworking-plugins"},
	{"runc", "runc"},
}

// Missing returns what this machine lacks for a node, in the order in which to fix it.
func Missing(ctx context.Context) []string {
	if runtime.GOOS != "linux" {
		return []string{"Linux"}
	}
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, p := range packages {
		if _, err := exec.LookPath(p.command); err != nil {
			missing = append(missing, p.command+" (package "+p.pkg+")")
		}
	}
	_, err := kubetest.Tools(ctx, "etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
	if err != nil {
		missing = append(missing, err.Error())
	}
	return missing
}

package drill

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// build returns the path of the program, built as users get it. It is kept for as
// long as the cluster, since to link it takes longer than to run it.
func build(t *testing.T, c site) string {
	t.Helper()
	path := filepath.Join(c.Dir, "audit")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/audit").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// process is a run of the program. Once it has ended, code is how.
type process struct {
	cmd         *exec.Cmd
	out, errors bytes.Buffer
	code        int
}

// start starts a sweep that publishes. It ends within a minute, or is killed.
func start(t *testing.T, binary, kubeconfig string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	p := &process{cmd: exec.CommandContext(ctx, binary, append(args, "--once", "--publish", "--kubeconfig", kubeconfig)...)}
	p.cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errors
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); p.end() })
	return p
}

// end waits for the end.
func (p *process) end() *process {
	// The second time it is an error, and the code tells all that matters.
	_ = p.cmd.Wait()
	p.code = p.cmd.ProcessState.ExitCode()
	return p
}

// publish sweeps and publishes undisturbed, which must end well.
func publish(t *testing.T, c site, binary string, args ...string) {
	t.Helper()
	args = append(args, "--findings-namespace", c.namespace)
	if p := start(t, binary, c.Kubeconfig(kubetest.Guest), args...).end(); p.code != 0 || p.errors.Len() > 0 {
		t.Fatalf("publish: exit %d: %s\n%s", p.code, &p.errors, &p.out)
	}
}

func writes(r *http.Request) bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method)
}

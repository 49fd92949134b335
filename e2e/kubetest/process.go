package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is one part of the control plane. A nil process has never run.
type process struct {
	name  string
	log   string
	ports []int
	cmd   *exec.Cmd
	done  chan struct{} // closed when the process has ended
	ended error         // how, once done is closed
}

// grace is the time a part has to end by itself.
const grace = 20 * time.Second

// await returns when the process is ready, or says why it never will be.
func (p *process) await(ctx context.Context, ready func(context.Context) bool) error {
	for {
		if ready(ctx) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("run %s: %v; its log ends:\n%s", p.name, p.ended, tail(p.log))
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("wait for %s: %w", p.name, ctx.Err())
			}
			return fmt.Errorf("wait for %s: %w; its log ends:\n%s", p.name, ctx.Err(), tail(p.log))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// answers returns a function that tells whether a GET of the URL succeeds.
func answers(client *http.Client, url, token string) func(context.Context) bool {
	return func(ctx context.Context) bool { return probe(ctx, client, url, token) }
}

func probe(ctx context.Context, client *http.Client, url, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// stop ends the process by its id, with force where asking does not help, and
// waits until its ports are free.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	// An error says that the process has ended already, which done tells too.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	var err error
	select {
	case <-p.done:
	case <-time.After(grace):
		err = fmt.Errorf("stop %s: killed, since it did not end within %v; its log ends:\n%s", p.name, grace, tail(p.log))
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	for _, port := range p.ports {
		waitFree(port)
	}
	return err
}

// runs reports whether the process was started and has not ended.
func (p *process) runs() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// waitFree waits, but not for ever, until a port can be listened on.
func waitFree(port int) {
	for range 100 {
		l, err := net.Listen("tcp", address(port))
		if err == nil {
			l.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// tail returns the last lines of a log.
func tail(path string) string {
	const lines, width = 15, 400
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := all[max(0, len(all)-lines):]
	for i, line := range last {
		last[i] = "  " + line[:min(len(line), width)]
	}
	return strings.Join(last, "\n")
}

// freePorts returns different ports of 127.0.0.1 on which nobody listens.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		// All are held until the last is found, so that none comes twice.
		l, err := net.Listen("tcp", address(0))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func address(port int) string { return fmt.Sprintf("%s:%d", loopback, port) }

func local(scheme string, port int) string { return scheme + "://" + address(port) }

func plainClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

func command(path string, log *os.File, args []string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = filepath.Dir(log.Name())
	// Nothing of the environment is for the parts: an ETCD_* variable of the
	// machine would change what runs.
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

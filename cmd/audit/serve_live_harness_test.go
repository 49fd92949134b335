package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// service is a program that sweeps continuously, in a process of its own.
type service struct {
	*process
	log *growing
}

// growing is what a process has written so far.
type growing struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// The times of leases in tests, and the longest that a takeover may take then: a
// lease that runs out, and what a busy machine needs beside.
const (
	shortLease   = 2 * time.Second
	takeoverTime = shortLease + 3*time.Second
)

// serving starts a built program that sweeps every interval.
func serving(t *testing.T, binary, kubeconfig string, args ...string) *service {
	t.Helper()
	s := &service{log: &growing{}}
	args = append([]string{
		"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--leader-elect-lease-duration", shortLease.String(),
		"--leader-elect-renew-deadline", "1200ms", "--leader-elect-retry-period", "200ms",
	}, args...)
	s.process = &process{cmd: exec.CommandContext(t.Context(), binary, args...)}
	s.cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, s.log
	start(t, s.process)
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
		if s.stdout.Len() > 0 {
			t.Errorf("it prints %s", &s.stdout)
		}
	})
	return s
}

// says waits until the log has a text so many times, and returns the last line
// with it.
func (s *service) says(t *testing.T, text string, times int) string {
	t.Helper()
	const most = 20 * time.Second
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if log := s.log.String(); strings.Count(log, text) >= times {
			at := strings.LastIndex(log, text)
			line, _, _ := strings.Cut(log[strings.LastIndex(log[:at], "\n")+1:], "\n")
			return line
		}
	}
	t.Fatalf("it does not say %q %d times within %s:\n%s", text, times, most, s.log)
	return ""
}

// get asks the service for a page and returns the answer's code and text.
func (s *service) get(t *testing.T, path string) (int, string) {
	t.Helper()
	_, address, _ := strings.Cut(s.says(t, "msg=listening", 1), "address=")
	client := &http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(body))
}

// healthy checks the answers on both paths.
func (s *service) healthy(t *testing.T, ready int) {
	t.Helper()
	if code, text := s.get(t, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d %s", code, text)
	}
	if code, text := s.get(t, "/readyz"); code != ready {
		t.Errorf("/readyz: %d %s, want %d; the log:\n%s", code, text, ready, s.log)
	}
}

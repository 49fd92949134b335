// Package promtest starts real parts of Prometheus for tests: a Pushgateway, a
// Prometheus, and promtool. They are Debian's packages prometheus-pushgateway and
// prometheus, found on the PATH. Where one is missing the test is skipped, by the
// name of what it misses; with AUDIT_REQUIRE_TOOLS set it fails, so that CI skips
// nothing.
package promtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// requireTools is the variable under which a tool that is missing fails a test.
const requireTools = "AUDIT_REQUIRE_TOOLS"

// tool returns the path of a program.
func tool(t testing.TB, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv(requireTools) != "":
		t.Fatalf("%s is not on the PATH: install Debian's %s", name, debian)
	default:
		t.Skipf("needs %s: install Debian's %s", name, debian)
	}
	return ""
}

// Promtool runs promtool with something on its standard input, and returns what it
// prints.
func Promtool(t testing.TB, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, "promtool", "prometheus"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// output is what a process has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startTime is how long a part may take to listen, and stopTime to end.
const (
	startTime = 30 * time.Second
	stopTime  = 10 * time.Second
)

var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// start runs a part that listens on a port of its own choice until the test ends,
// and returns its URL.
func start(t testing.TB, path string, args ...string) string {
	t.Helper()
	log := &output{}
	cmd := exec.Command(path, append(args, "--web.listen-address=127.0.0.1:0")...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // its log tells why it ended
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
		select {
		case <-done:
		case <-time.After(stopTime):
			_ = cmd.Process.Kill()
			<-done
		}
	})
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := listening.FindStringSubmatch(log.String()); found != nil {
			url := "http://" + found[1]
			await(t, url+"/-/ready", end)
			return url
		}
		select {
		case <-done:
			t.Fatalf("%s ended:\n%s", path, log)
		default:
		}
	}
	t.Fatalf("%s does not listen after %s:\n%s", path, startTime, log)
	return ""
}

// await waits until a page answers with 200.
func await(t testing.TB, url string, end time.Time) {
	t.Helper()
	for time.Now().Before(end) {
		if code, _ := get(t.Context(), url); code == http.StatusOK {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not answer", url)
}

// get returns the code and the text of a page, zero where there is no answer.
func get(ctx context.Context, url string) (int, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

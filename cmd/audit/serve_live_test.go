package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

func isLease(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }

// TestOneLeadsAndTheOtherTakesOver stops the leader of a pair in every way, and
// checks what it leaves behind.
func TestOneLeadsAndTheOtherTakesOver(t *testing.T) {
	c, args := publishing(t)
	binary, kubeconfig := buildAudit(t), args[len(args)-1]
	var others atomic.Int32
	watched := c.StartProxy(t, func(r *http.Request) kubetest.Answer {
		if !isLease(r) {
			others.Add(1)
		}
		return nil
	})

	first := publishes(t, binary, kubeconfig, "--interval", "5s")
	first.says(t, "complete=true findings=18 opened=18", 1)
	second := publishes(t, binary, watched.Kubeconfig(kubetest.Guest), "--interval", "5s")
	second.says(t, `msg="standing by"`, 1)
	before := versions(t, c)
	first.says(t, "complete=true findings=18 opened=0", 1)
	first.healthy(t, http.StatusOK)
	second.healthy(t, http.StatusOK)
	if n := others.Load(); n > 0 {
		t.Errorf("the process on standby makes %d requests for something other than the lease", n)
	}

	first.end(t, syscall.SIGKILL)
	began := time.Now()
	second.says(t, "msg=leading", 1)
	if took := time.Since(began); took > takeoverTime {
		t.Errorf("it takes over after %s", took)
	}
	second.says(t, "complete=true findings=18 opened=0", 1)

	third := publishes(t, binary, kubeconfig, "--interval", "5s")
	third.says(t, `msg="standing by"`, 1)
	if took := second.end(t, syscall.SIGTERM); took > 5*time.Second {
		t.Errorf("it ends after %s", took)
	}
	if code := second.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d:\n%s", code, second.log)
	}
	began = time.Now()
	third.says(t, "msg=leading", 1)
	if took := time.Since(began); took > shortLease {
		t.Errorf("a lease that was released is acquired after %s", took)
	}
	third.says(t, "complete=true findings=18 opened=0", 1)
	third.end(t, syscall.SIGINT)
	if code := third.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d:\n%s", code, third.log)
	}

	if diff := cmp.Diff(before, versions(t, c)); diff != "" {
		t.Errorf("findings were written again (-before +after):\n%s", diff)
	}
	if who := leaseHolder(t, c); who != "" {
		t.Errorf("%q still has the lease", who)
	}
}

// TestLeaderThatLosesTheLeaseWritesNoMore: a lease is taken away while findings
// are being created.
func TestLeaderThatLosesTheLeaseWritesNoMore(t *testing.T) {
	c, _ := publishing(t)
	creates := make(chan struct{}, 100)
	proceed := make(chan struct{})
	var created atomic.Int32
	p := c.StartProxy(t, func(r *http.Request) kubetest.Answer {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/findings") {
			return nil
		}
		created.Add(1)
		creates <- struct{}{}
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			select {
			case <-proceed:
			case <-r.Context().Done():
				return
			}
			next.ServeHTTP(w, r)
		}
	})
	s := publishes(t, buildAudit(t), p.Kubeconfig(kubetest.Guest), "--interval", "20s")
	for range 8 { // the number of concurrent writes
		select {
		case <-creates:
		case <-time.After(20 * time.Second):
			t.Fatalf("nothing is created:\n%s", s.log)
		}
	}
	kubectl(t, c, "patch", "lease", "audit", "-n", "audit", "--type=merge", "-p", `{"spec": {"holderIdentity": "thief"}}`)
	s.says(t, `msg="sweep abandoned" reason="the lease was lost: it is held by \"thief\""`, 1)
	s.says(t, "msg=\"standing by\" leader=thief", 1)
	if n := created.Load(); n > 8 {
		t.Errorf("%d findings were created, though the lease was lost during the first 8", n)
	}
	close(proceed)
	// The thief does not renew the lease, so it expires.
	s.says(t, "msg=sweep complete=true findings=18 ", 1)
	if diff := cmp.Diff(map[string]int{"Open": 18}, statesOf(stored(t, c))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestWithoutLeaderElectionNoLeaseIsTouched(t *testing.T) {
	c, _ := publishing(t)
	var leases atomic.Int32
	p := c.StartProxy(t, func(r *http.Request) kubetest.Answer {
		if isLease(r) {
			leases.Add(1)
		}
		return nil
	})
	kubeconfig := p.Kubeconfig(kubetest.Guest)
	sweep(t, 0, "--publish", "--leader-elect=false", "--kubeconfig", kubeconfig)
	s := publishes(t, buildAudit(t), kubeconfig, "--leader-elect=false", "--interval", "5s")
	s.says(t, "complete=true findings=18 opened=0", 1)
	s.healthy(t, http.StatusOK)
	s.end(t, syscall.SIGTERM)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d:\n%s", code, s.log)
	}
	if n := leases.Load(); n > 0 {
		t.Errorf("%d requests for a lease", n)
	}
}

// TestWithoutPublishNothingIsWritten: a process that is not asked to publish sweeps,
// follows what opens and resolves, serves metrics, and sends nothing but reads. It does
// not even look for the namespace of findings.
func TestWithoutPublishNothingIsWritten(t *testing.T) {
	c, _ := publishing(t)
	var writes, stores atomic.Int32
	p := c.StartProxy(t, func(r *http.Request) kubetest.Answer {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		if isLease(r) || strings.Contains(r.URL.Path, "/namespaces/audit/") {
			stores.Add(1)
		}
		return nil
	})
	var pushes atomic.Int32
	gateway := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pushes.Add(1) }))
	t.Cleanup(gateway.Close)
	config := configured(t, namesTwo+pushSection(t, gateway.URL))
	s := serving(t, buildAudit(t), p.Kubeconfig(kubetest.Guest), "--interval", "3s", "--config", config)
	s.says(t, "msg=started", 1)
	s.says(t, "publish=false leaderElect=false", 1)
	s.says(t, "complete=true findings=18 opened=18", 1)
	s.says(t, "msg=finding state=Open why=opened rule=", 18)
	s.healthy(t, http.StatusOK)
	if _, text := s.get(t, "/metrics"); !strings.Contains(text, "\naudit_findings{") || !strings.Contains(text, "\naudit_last_success_timestamp_seconds{") {
		t.Errorf("metrics:\n%s", text)
	}
	s.says(t, "complete=true findings=18 opened=0", 1)
	kubectl(t, c, "delete", "ingress", "-n", "shop-web", "basket")
	s.says(t, "state=Resolved why=resolved rule=one-owner-per-host subject=basket.example.com", 1)
	s.says(t, "complete=true findings=17 opened=0 resolved=1", 1)
	s.end(t, syscall.SIGTERM)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d:\n%s", code, s.log)
	}
	if w, st, pu := writes.Load(), stores.Load(), pushes.Load(); w+st+pu > 0 {
		t.Errorf("%d writes, %d requests for what is stored, %d pushes", w, st, pu)
	}
	if got := stored(t, c); len(got) > 0 {
		t.Errorf("%d findings were stored", len(got))
	}
}

// TestUnreachableServerStopsNothing: the API server is unreachable, reachable, and
// unreachable again.
func TestUnreachableServerStopsNothing(t *testing.T) {
	c, _ := publishing(t)
	var away atomic.Bool
	away.Store(true)
	p := c.StartProxy(t, func(*http.Request) kubetest.Answer {
		if away.Load() {
			return kubetest.Text(http.StatusBadGateway, "bad gateway")
		}
		return nil
	})
	s := publishes(t, buildAudit(t), p.Kubeconfig(kubetest.Guest), "--interval", "4s")
	s.says(t, "cannot request the lease", 1)
	s.healthy(t, http.StatusServiceUnavailable)
	away.Store(false)
	s.says(t, "complete=true", 1)
	s.healthy(t, http.StatusOK)
	away.Store(true)
	s.says(t, "lost the lease", 1)
	away.Store(false)
	s.says(t, "msg=leading", 2)
	s.says(t, "complete=true findings=18 opened=0", 1)
	s.end(t, syscall.SIGTERM)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d:\n%s", code, s.log)
	}
}

// TestServiceEndsInTimeThoughTheServerHangs, while it leads or not.
func TestServiceEndsInTimeThoughTheServerHangs(t *testing.T) {
	binary := buildAudit(t)
	for _, elect := range []bool{true, false} {
		t.Run(fmt.Sprintf("leader election %t", elect), func(t *testing.T) {
			t.Parallel()
			url, asked := silentServer(t)
			s := publishes(t, binary, "/dev/null", "--server", url, fmt.Sprintf("--leader-elect=%t", elect))
			select {
			case <-asked:
			case <-time.After(10 * time.Second):
				t.Fatal("no request reached the server")
			}
			s.healthy(t, http.StatusServiceUnavailable)
			if took := s.end(t, syscall.SIGTERM); took > 5*time.Second {
				t.Errorf("it ends after %s", took)
			}
			if code := s.cmd.ProcessState.ExitCode(); code != 0 || strings.Contains(s.log.String(), "msg=sweep ") {
				t.Errorf("exit %d:\n%s", code, s.log)
			}
		})
	}
}

func leaseHolder(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	return kubectl(t, c, "get", "lease", "audit", "-n", "audit", "-o", "jsonpath={.spec.holderIdentity}")
}

// service is the program in its long-running mode, in a process of its own.
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

// The times of leases in tests, and the longest time for a takeover: the lease
// expires, and a busy machine needs some time as well.
const (
	shortLease   = 2 * time.Second
	takeoverTime = shortLease + 3*time.Second
)

// publishes starts a built program that publishes a sweep every interval.
func publishes(t *testing.T, binary, kubeconfig string, args ...string) *service {
	t.Helper()
	return serving(t, binary, kubeconfig, append([]string{
		"--publish", "--leader-elect-lease-duration", shortLease.String(),
		"--leader-elect-renew-deadline", "1200ms", "--leader-elect-retry-period", "200ms",
	}, args...)...)
}

// serving starts a built program that sweeps every interval.
func serving(t *testing.T, binary, kubeconfig string, args ...string) *service {
	t.Helper()
	s := &service{log: &growing{}}
	args = append([]string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0"}, args...)
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

// get asks the service for a page and returns the response's code and text.
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

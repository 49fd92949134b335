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
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running or ended program. A nil process was never started.
type process struct {
	name  string
	log   string
	ports []int
	cmd   *exec.Cmd
	done  chan struct{} // closed when the process has ended
	ended error         // the result of Wait, valid once done is closed
}

// stopTime is how long a process may take to end after SIGTERM.
const stopTime = 20 * time.Second

// await returns when the process is ready. If it ends first or the context does, the
// error contains the end of its log.
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

// answers returns a function that reports whether a GET of the URL succeeds.
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

// stop ends the process, with SIGKILL if SIGTERM does not help, and waits until its
// ports are free.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	// An error means that the process has already ended.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	var err error
	select {
	case <-p.done:
	case <-time.After(stopTime):
		err = fmt.Errorf("stop %s: killed because it did not end within %v; its log ends:\n%s", p.name, stopTime, tail(p.log))
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

// waitFree waits up to two seconds until a port can be listened on.
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

// freePorts returns n different free ports of 127.0.0.1.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		// All listeners stay open until the last port is found, so that none is
		// returned twice.
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
	// Not the caller's environment: a variable such as ETCD_NAME would change the
	// configuration of the program.
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// spawner starts processes from one thread that lives until close. The kernel sends
// the parent-death signal when the thread that started the child ends, not the
// process, and the Go runtime may end the thread of any goroutine.
type spawner struct {
	work  chan func()
	close func()
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	s.close = sync.OnceFunc(func() { close(s.work) })
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

// start runs a program that writes to the given log file and listens on the given
// ports.
func (s *spawner) start(path, log string, ports []int, args ...string) (*process, error) {
	name := filepath.Base(path)
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer file.Close()
	p := &process{name: name, log: log, ports: ports, cmd: command(path, file, args), done: make(chan struct{})}
	p.cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	s.work <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.ended = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

const (
	folderPattern = "kubetest-*"
	lockName      = "lock"
)

// ClaimFolder creates a temporary folder and locks it until the lock is closed or
// the process ends. The caller removes the folder and then closes the lock. It also
// removes the folders of killed processes: etcd preallocates its log, so each takes
// at least 64 MB.
func ClaimFolder() (dir string, lock *os.File, err error) {
	removeOrphans()
	dir, err = os.MkdirTemp("", folderPattern)
	if err != nil {
		return "", nil, fmt.Errorf("make folder: %w", err)
	}
	lock, err = os.Create(filepath.Join(dir, lockName))
	if err == nil {
		err = tryLock(lock)
	}
	if err != nil {
		return "", nil, fmt.Errorf("lock folder: %w", err)
	}
	return dir, lock, nil
}

// removeOrphans removes folders that no process has locked. Folders that can't be
// removed belong to another user and stay.
func removeOrphans() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), folderPattern, lockName))
	if err != nil {
		return // not possible: the pattern is a valid constant
	}
	for _, path := range locks {
		if isOrphan(path) {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
}

func isOrphan(path string) bool {
	lock, err := os.Open(path)
	if err != nil {
		return false
	}
	defer lock.Close()
	info, err := lock.Stat()
	// A new folder may not be locked yet.
	return err == nil && time.Since(info.ModTime()) > time.Minute && tryLock(lock) == nil
}

// tryLock locks a file unless another process has locked it. The kernel unlocks it
// when the process ends, even if it is killed.
func tryLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

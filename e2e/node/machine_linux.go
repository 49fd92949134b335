package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// enter runs this program again in new namespaces, waits until it ends, and removes
// the folder and the cgroups, which don't disappear with the namespaces. It returns
// the program's exit code.
func enter() (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 1, fmt.Errorf("enter namespaces: %w", err)
	}
	dir, lock, err := kubetest.ClaimFolder()
	if err != nil {
		return 1, fmt.Errorf("enter namespaces: %w", err)
	}
	defer func() {
		err = errors.Join(err, removeCgroups(dir), os.RemoveAll(dir), lock.Close())
	}()
	removeOrphanedCgroups()
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), role+"="+roleInit, folder+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	// The kernel sends Pdeathsig when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("enter namespaces: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-signals:
			// All other processes end with their init.
			_ = cmd.Process.Kill()
		case <-ended:
		}
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// runInit is the init process of the namespaces: it sets up mounts and the network,
// runs the tests, and reaps orphaned processes. It returns when the tests end; then
// the kernel ends all processes that are left.
func runInit() int {
	dir := os.Getenv(folder)
	if err := makeMachine(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, fmt.Errorf("set up the namespaces: %w", err))
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(role, roleTests); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Not with os/exec, which would wait for the process like the loop below.
	tests, err := os.StartProcess(self, os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, fmt.Errorf("wait for the tests: %w", err))
			return 1
		case pid == tests.Pid && status.Signaled():
			fmt.Fprintln(os.Stderr, "the tests were ended by signal", status.Signal())
			return 1
		case pid == tests.Pid:
			return status.ExitStatus()
		}
	}
}

// makeMachine mounts the folders that a node writes to, so that it doesn't write to
// those of the host: /var as an overlay with the changes in dir, and an empty /run.
func makeMachine(ctx context.Context, dir string) error {
	upper, work := filepath.Join(dir, "var"), filepath.Join(dir, "var.work")
	for _, path := range []string{upper, work} {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		// The host does not see mounts after this one.
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC, ""},
		{"overlay", "/var", "overlay", 0, "lowerdir=/var,upperdir=" + upper + ",workdir=" + work},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=755"},
	} {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	return run(ctx, "ip", "link", "set", "lo", "up")
}

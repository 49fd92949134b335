package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// beInit makes of the namespaces a small machine, runs the tests in it, and
// collects the processes whose parents are gone. When it returns, which is when the
// tests have ended, the kernel ends every process that is left.
func beInit() int {
	dir := os.Getenv(folder)
	if err := makeMachine(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, fmt.Errorf("make a machine of namespaces: %w", err))
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
	// Not by os/exec, which would wait for the process, as the loop below does.
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
			fmt.Fprintln(os.Stderr, "the tests were ended by a signal:", status.Signal())
			return 1
		case pid == tests.Pid:
			return status.ExitStatus()
		}
	}
}

// makeMachine gives the mount namespace what a node writes to, so that it writes
// nothing to the machine's own folders: /var as it is and with what is written to
// it kept in dir, and an empty /run.
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
		// What is mounted from here on, the machine does not see.
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

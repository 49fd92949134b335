package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// enter runs this program again in namespaces of its own, waits for its end, and
// removes the folder and the cgroups, which are all that namespaces do not take
// with them. It returns the program's exit code.
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
	// The kernel ties the life of the child to the thread that makes it.
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
			// Init takes everybody with it.
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

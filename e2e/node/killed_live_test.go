package node

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKilledTestLeavesNothing kills a test binary without warning while a pod runs
// on its node. What it had made beside the folder is gone with it.
func TestKilledTestLeavesNothing(t *testing.T) {
	shared.Node(t) // or skip the test
	dir := killHolding(t)
	if !soon(func() bool { return len(processesOf(t, dir)) == 0 }) {
		t.Errorf("processes outlived the one that was killed:\n%s", strings.Join(processesOf(t, dir), "\n"))
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		t.Errorf("mounts outlived the process that was killed:\n%s", mounts)
	}
	if len(cgroups(filepath.Base(dir))) == 0 {
		t.Error("the pod had no cgroup, so that there is nothing to see in the removal of cgroups")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Errorf("the folder cannot be removed: %v", err)
	}
	removeOrphanedCgroups()
	if left := cgroups(filepath.Base(dir)); len(left) > 0 {
		t.Errorf("cgroups outlived their folder: %v", left)
	}
}

// killHolding starts this binary with a node of its own, beside the one that there
// is, kills it when its pod runs, and returns the folder that it leaves.
func killHolding(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestHeld$")
	cmd.Env = append(os.Environ(), hold+"=1", role+"=", folder+"=")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if dir, ok := strings.CutPrefix(lines.Text(), "holding "); ok {
			if len(processesOf(t, dir)) < 8 {
				t.Errorf("the node runs in fewer processes than expected: %q", processesOf(t, dir))
			}
			return dir
		}
		said = append(said, lines.Text())
	}
	t.Fatalf("no node came up:\n%s", strings.Join(said, "\n"))
	return ""
}

// processesOf returns the command lines of the processes that have to do with a
// folder: those that are told of it, and those whose root is in it, as that of a
// container is.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		mounts, err := os.ReadFile(filepath.Join(filepath.Dir(path), "mountinfo"))
		if err == nil && (strings.Contains(string(command), dir) || strings.Contains(string(mounts), dir)) {
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func soon(yes func() bool) bool {
	for range 250 {
		if yes() {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

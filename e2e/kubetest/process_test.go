package kubetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// orphanFolder is the environment variable that turns the test binary into the
// process that TestKilledProcessLeavesNothing kills.
const orphanFolder = "KUBETEST_ORPHAN_FOLDER"

// runOrphan starts a cluster, prints the ids of its processes, and waits to be
// killed.
func runOrphan() int {
	c, err := Start(context.Background(), Options{Dir: os.Getenv(orphanFolder)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.etcd.cmd.Process.Pid, c.server.process.cmd.Process.Pid)
	// Threads start and end while tests run. That must not end the cluster.
	for range 50 {
		go func() { runtime.LockOSThread() }()
	}
	time.Sleep(time.Second)
	fmt.Println("alive:", probe(context.Background(), c.cert.client(), c.URL+"/readyz", c.user(Admin).token))
	time.Sleep(time.Minute)
	return 0
}

func TestKilledProcessLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: other systems don't end a child with its parent")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), orphanFolder+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	pids := strings.Fields(lines.Text())
	lines.Scan()
	if lines.Text() != "alive: true" {
		t.Errorf("the cluster ended with a thread of its parent: %q", lines.Text())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if len(pids) != 2 {
		t.Fatalf("process ids %q, want two", pids)
	}
	for _, pid := range pids {
		if !endsSoon(pid) {
			t.Errorf("process %s outlived the one that started it", pid)
		}
	}
}

// endsSoon reports whether a process ends within two seconds. A zombie counts as
// ended.
func endsSoon(pid string) bool {
	for range 100 {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return true
		}
		if _, state, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(state, "Z") {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func TestOnlyOrphanedFoldersAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	hourAgo := time.Now().Add(-time.Hour)
	claim := func() (string, *os.File) {
		dir, lock, err := ClaimFolder()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, lockName), hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
		return dir, lock
	}
	orphaned, orphanedLock := claim()
	held, heldLock := claim()
	defer heldLock.Close()
	orphanedLock.Close() // as the kernel does when a process ends
	fresh, freshLock := claim()
	freshLock.Close()
	if err := os.Chtimes(filepath.Join(fresh, lockName), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}

	removeOrphans()
	for dir, want := range map[string]bool{orphaned: false, held: true, fresh: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("folder %s: %v, want kept: %v", dir, err, want)
		}
	}
}

package kubetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// orphanFolder is the variable that makes the test binary the process whose
// death TestKilledProcessLeavesNothing looks at.
const orphanFolder = "KUBETEST_ORPHAN_FOLDER"

// beOrphaned starts a cluster, tells the ids of its processes, and waits to be
// killed.
func beOrphaned() int {
	c, err := Start(context.Background(), Options{Dir: os.Getenv(orphanFolder)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.etcd.cmd.Process.Pid, c.server.process.cmd.Process.Pid)
	// Threads come and go while tests run. None of that may end the cluster.
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
		t.Skip("only Linux ends a child with its parent")
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
		t.Errorf("the cluster did not outlive threads of its parent: %q", lines.Text())
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

// endsSoon reports whether a process is gone, or a zombie that waits for init
// to collect it.
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

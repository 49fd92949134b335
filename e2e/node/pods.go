package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// PID returns the id of the process in the only container of a pod.
func (n *Node) PID(ctx context.Context, namespace, pod string) (int, error) {
	id, err := n.Kubectl(ctx, "get", "pod", pod, "-n", namespace, "-o", "jsonpath={.status.containerStatuses[0].containerID}")
	if err != nil {
		return 0, err
	}
	id = strings.TrimPrefix(id, "containerd://")
	tasks, err := n.Containerd(ctx, "tasks", "list")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(tasks) { // TASK PID STATUS
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == id && fields[2] == "RUNNING" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("find the process of pod %s/%s: its container %q is not running", namespace, pod, id)
}

// LogOnFailure prints, if the test has failed when it ends, the workloads, events and
// pod logs of the namespaces and the last lines of the node's logs.
func (n *Node) LogOnFailure(t testing.TB, namespaces ...string) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		// The context of the test is already canceled.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, namespace := range namespaces {
			t.Log(n.describe(ctx, namespace))
		}
		t.Log(n.tails())
	})
}

// describe returns the workloads, events and pod logs of a namespace.
func (n *Node) describe(ctx context.Context, namespace string) string {
	var b strings.Builder
	kubectl := func(args ...string) {
		args = append(args, "-n", namespace)
		out, err := n.Kubectl(ctx, args...)
		if err != nil {
			out += err.Error() + "\n"
		}
		fmt.Fprintf(&b, "--- kubectl %s\n%s", strings.Join(args, " "), out)
	}
	kubectl("get", "cronjobs,jobs,deployments,pods", "-o", "wide", "--ignore-not-found")
	kubectl("get", "events", "--sort-by", ".lastTimestamp")
	pods, err := n.Kubectl(ctx, "get", "pods", "-n", namespace, "-o", "name")
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	for _, pod := range strings.Fields(pods) {
		kubectl("logs", pod, "--all-containers", "--tail", "60")
	}
	return b.String()
}

// tails returns the last lines of the logs of all programs, with long lines cut.
func (n *Node) tails() string {
	const lines, width = 12, 300
	logs, err := filepath.Glob(n.file("*.log"))
	if err != nil {
		return err.Error()
	}
	slices.Sort(logs)
	var b strings.Builder
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		all := strings.Split(strings.TrimSpace(string(data)), "\n")
		fmt.Fprintf(&b, "--- %s\n", filepath.Base(log))
		for _, line := range all[max(0, len(all)-lines):] {
			fmt.Fprintln(&b, line[:min(len(line), width)])
		}
	}
	return b.String()
}

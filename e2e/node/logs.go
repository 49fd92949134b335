package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// LogOnFailure prints, where a test has failed when it ends, what the pods of the
// namespaces have said, what became of them, and how the logs of the node end.
func (n *Node) LogOnFailure(t testing.TB, namespaces ...string) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		// That of the test is over.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, namespace := range namespaces {
			t.Log(n.story(ctx, namespace))
		}
		t.Log(n.tails())
	})
}

// story tells of a namespace what there is to know of its pods.
func (n *Node) story(ctx context.Context, namespace string) string {
	var b strings.Builder
	tell := func(args ...string) {
		args = append(args, "-n", namespace)
		out, err := n.Kubectl(ctx, args...)
		if err != nil {
			out += err.Error() + "\n"
		}
		fmt.Fprintf(&b, "--- kubectl %s\n%s", strings.Join(args, " "), out)
	}
	tell("get", "cronjobs,jobs,deployments,pods", "-o", "wide", "--ignore-not-found")
	tell("get", "events", "--sort-by", ".lastTimestamp")
	pods, err := n.Kubectl(ctx, "get", "pods", "-n", namespace, "-o", "name")
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	for _, pod := range strings.Fields(pods) {
		tell("logs", pod, "--all-containers", "--tail", "60")
	}
	return b.String()
}

// tails returns the last lines of the logs of the parts, with long lines cut.
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

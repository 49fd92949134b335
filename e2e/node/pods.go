package node

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// PID returns the id of the process that a pod's only container runs.
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
	return 0, fmt.Errorf("find the process of pod %s/%s: its container %q does not run", namespace, pod, id)
}

// Package node runs a whole Kubernetes node for tests: the API server of package
// kubetest, and beside it kube-controller-manager, kube-scheduler, containerd,
// kubelet and kube-proxy. What is applied there really runs.
//
// It takes root and Linux. The test binary runs itself again in namespaces of its
// own, for processes, mounts and the network, and makes the node in them. So the
// node sees neither the machine's containers nor its network, and when the tests
// end, or are killed, the kernel takes everything away with the namespaces: each
// process, mount, address and rule of iptables.
//
// A test package shares one Node through Shared.
package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// Name is what the node is called.
const Name = "node1"

// Host is the address of the machine, as far as pods and the node are concerned:
// who listens there can be reached from pods.
const Host = "10.88.0.1"

const podRange = "10.88.0.0/16"

// Node is a running node and its control plane. Its methods may be used by several
// goroutines at once.
type Node struct {
	*kubetest.Cluster
}

// start makes a node of the namespaces that the process is in.
func start(ctx context.Context, dir string) (_ *Node, err error) {
	if err := makeNetwork(ctx, dir); err != nil {
		return nil, err
	}
	cluster, err := kubetest.Start(ctx, kubetest.Options{
		Dir: dir, Address: Host, Controllers: true,
		APIServerFlags: []string{"--kubelet-preferred-address-types", "InternalIP"},
	})
	if err != nil {
		return nil, err
	}
	n := &Node{cluster}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Stop())
		}
	}()
	for _, step := range []func(context.Context) error{
		n.startControllers, n.startContainerd, n.importPause, n.startKubelet, n.startProxy, n.awaitReady,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// awaitReady waits until the node takes pods, and until there is a ServiceAccount
// that pods are admitted with.
func (n *Node) awaitReady(ctx context.Context) error {
	const most = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		ready, err := n.Kubectl(ctx, "get", "node", Name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")]}{.spec.taints}`)
		if err == nil && strings.Contains(ready, `"status":"True"`) && !strings.Contains(ready, "NoSchedule") {
			if _, err = n.Kubectl(ctx, "get", "serviceaccount", "default", "-n", "default"); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the node: %w; it says: %s; last error: %w\n%s", ctx.Err(), ready, err, n.tails())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

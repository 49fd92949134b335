// Package node runs a whole Kubernetes node for tests: the API server of package
// kubetest, kube-controller-manager, kube-scheduler, containerd, kubelet and
// kube-proxy. Workloads really run on it.
//
// It needs root and Linux. The test binary runs itself again in new process, mount and
// network namespaces and starts the node in them. So the node does not see the
// containers or the network of the host, and when the tests end or are killed, the
// kernel removes every process, mount, address and iptables rule with the namespaces.
//
// A test package shares one Node through Shared.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// Name is the name of the node.
const Name = "node1"

// Host is the address of the machine as seen from pods and the node. Pods can reach
// servers that listen there.
const Host = "10.88.0.1"

const podRange = "10.88.0.0/16"

// Node is a running node and its control plane. Its methods are safe for concurrent
// use.
type Node struct {
	*kubetest.Cluster
}

// start starts a node in the namespaces of this process.
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

// awaitReady waits until the node is schedulable and the default ServiceAccount, which
// pods need, exists.
func (n *Node) awaitReady(ctx context.Context) error {
	const limit = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, limit)
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
			return fmt.Errorf("wait for the node: %w; its conditions and taints: %s; last error: %w\n%s", ctx.Err(), ready, err, n.tails())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// kubeletConfig needs nothing that root lacks in a container: no cgroups v2, no
// systemd, and swap may be on. It allows all requests because nothing outside the
// namespaces can reach the kubelet.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /%s
containerRuntimeEndpoint: unix://%s
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
evictionHard: {imagefs.available: 0%%, memory.available: 0%%, nodefs.available: 0%%, nodefs.inodesFree: 0%%}
registerNode: true
resolvConf: %q
`

func (n *Node) startControllers(ctx context.Context) error {
	kubeconfig := n.Kubeconfig(kubetest.Admin)
	if err := n.Run(ctx, kubetest.Program{Path: n.tool("kube-controller-manager"), Args: []string{
		"--kubeconfig", kubeconfig,
		"--service-account-private-key-file", n.file("server.key"), "--root-ca-file", n.file("server.crt"),
		"--use-service-account-credentials", "--leader-elect=false",
	}}); err != nil {
		return err
	}
	return n.Run(ctx, kubetest.Program{Path: n.tool("kube-scheduler"), Args: []string{"--kubeconfig", kubeconfig, "--leader-elect=false"}})
}

func (n *Node) startKubelet(ctx context.Context) error {
	resolv, config := n.file("resolv.conf"), n.file("kubelet.yaml")
	if err := makeCgroups(n.Dir); err != nil {
		return err
	}
	for path, text := range map[string]string{
		resolv: "", // no name server
		config: fmt.Sprintf(kubeletConfig, filepath.Base(n.Dir), socket, resolv),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("configure kubelet: %w", err)
		}
	}
	return n.Run(ctx, kubetest.Program{Path: n.tool("kubelet"), Args: []string{
		"--kubeconfig", n.Kubeconfig(kubetest.Admin), "--config", config,
		"--root-dir", n.file("kubelet"), "--hostname-override", Name, "--node-ip", Host,
	}})
}

func (n *Node) startProxy(ctx context.Context) error {
	return n.Run(ctx, kubetest.Program{Path: n.tool("kube-proxy"), Args: []string{
		"--kubeconfig", n.Kubeconfig(kubetest.Admin), "--hostname-override", Name,
		"--proxy-mode", "iptables", "--cluster-cidr", podRange,
		// Don't change the size of the host's connection table.
		"--conntrack-max-per-core", "0",
	}})
}

func (n *Node) tool(name string) string { return filepath.Join(n.ToolDir, name) }

func (n *Node) file(name string) string { return filepath.Join(n.Dir, name) }

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// kubeletConfig asks of the machine no more than root has in a container: neither
// version 2 of cgroups nor systemd, and not to be without swap. Nobody but the node
// itself reaches the kubelet, so it lets everybody in.
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
		resolv: "", // there is nobody to ask for names
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
		// The table of connections is the machine's, and its size none of ours.
		"--conntrack-max-per-core", "0",
	}})
}

func (n *Node) tool(name string) string { return filepath.Join(n.ToolDir, name) }

func (n *Node) file(name string) string { return filepath.Join(n.Dir, name) }

package node

import (
	"context"
	"os"
	"os/exec"
	"runtime"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// packages are Debian's packages of the commands that a node is made of.
var packages = []struct{ command, pkg string }{
	{"conntrack", "conntrack"},
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"ip", "iproute2"},
	{"iptables", "iptables"},
	{plugins + "/bridge", "containernetworking-plugins"},
	{"runc", "runc"},
}

// Missing says what this machine lacks for a node, in the order in which a reader
// would mend it.
func Missing(ctx context.Context) []string {
	if runtime.GOOS != "linux" {
		return []string{"Linux"}
	}
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, p := range packages {
		if _, err := exec.LookPath(p.command); err != nil {
			missing = append(missing, p.command+" (of the package "+p.pkg+")")
		}
	}
	_, err := kubetest.Tools(ctx, "etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
	if err != nil {
		missing = append(missing, err.Error())
	}
	return missing
}

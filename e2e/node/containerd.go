package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// socket is in /run, which is the node's own, since the path of a socket must be
// short.
const socket = "/run/containerd/containerd.sock"

const pauseImage = "docker.io/kubetest/pause:1"

// containerdConfig leaves the score by which the kernel chooses whom to kill as it
// is: to lower it takes a capability that root in a container or a small virtual
// machine may lack, and then no pod could start.
const containerdConfig = `version = 2
root = %q
state = "/run/containerd"
[grpc]
address = %q
[plugins."io.containerd.grpc.v1.cri"]
restrict_oom_score_adj = true
sandbox_image = %q
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = %q
conf_dir = %q
`

func (n *Node) startContainerd(ctx context.Context) error {
	file := filepath.Join(n.Dir, "containerd.toml")
	config := fmt.Sprintf(containerdConfig, filepath.Join(n.Dir, "containerd"), socket, pauseImage, plugins, networkConfig(n.Dir))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return fmt.Errorf("configure containerd: %w", err)
	}
	path, err := exec.LookPath("containerd")
	if err != nil {
		return fmt.Errorf("start containerd: %w", err)
	}
	return n.Run(ctx, kubetest.Program{
		Path: path, Args: []string{"--config", file},
		Ready: func(ctx context.Context) bool {
			_, err := n.Containerd(ctx, "version")
			return err == nil
		},
	})
}

// Containerd runs ctr, containerd's own client, among the containers of pods and
// their images, and returns what it prints.
func (n *Node) Containerd(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// Import makes the images of an archive, of the format of either docker or OCI,
// known to the node. Pods name them in full and with imagePullPolicy Never.
func (n *Node) Import(ctx context.Context, archive string) error {
	if _, err := n.Containerd(ctx, "images", "import", archive); err != nil {
		return fmt.Errorf("import image: %w", err)
	}
	return nil
}

// importPause builds the program that every pod has beside its containers. The
// name of the image is one that no registry is asked for, since it is there.
func (n *Node) importPause(ctx context.Context) error {
	binary, archive := filepath.Join(n.Dir, "pause"), filepath.Join(n.Dir, "pause.tar")
	if err := run(ctx, "go", "build", "-o", binary, "github.com/eventuallytrue/audit/e2e/node/pause"); err != nil {
		return fmt.Errorf("build the pause image: %w", err)
	}
	if err := writeImage(archive, pauseImage, binary); err != nil {
		return fmt.Errorf("build the pause image: %w", err)
	}
	return n.Import(ctx, archive)
}

package node

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// socket is in /run, which the node has for itself, because the path of a socket must
// be short.
const socket = "/run/containerd/containerd.sock"

const pauseImage = "docker.io/kubetest/pause:1"

// containerdConfig disables changes of the OOM score: lowering it needs a capability
// that root may lack in a container, and then no pod could start.
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

// Containerd runs ctr, the client of containerd, in the namespace of Kubernetes and
// returns its standard output.
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

// Import imports the images of an archive in the format of docker save or OCI. Pods
// use them by their full name and with imagePullPolicy Never.
func (n *Node) Import(ctx context.Context, archive string) error {
	if _, err := n.Containerd(ctx, "images", "import", archive); err != nil {
		return fmt.Errorf("import image: %w", err)
	}
	return nil
}

// importPause builds and imports the pause image. Its name is never looked up in a
// registry because the image exists locally.
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

const bridge = "pods0"

// plugins is the folder of the CNI plugins in Debian.
const plugins = "/usr/lib/cni"

// makeNetwork creates the bridge for pods. It must exist before the API server starts,
// which listens on its address.
func makeNetwork(ctx context.Context, dir string) error {
	for _, args := range []string{
		"link add " + bridge + " type bridge",
		"addr add " + Host + "/16 dev " + bridge,
		"link set " + bridge + " up",
	} {
		if err := run(ctx, "ip", strings.Fields(args)...); err != nil {
			return fmt.Errorf("create the pod network: %w", err)
		}
	}
	// This setting belongs to the network namespace.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		return fmt.Errorf("create the pod network: %w", err)
	}
	return writeNetworkConfig(networkConfig(dir), filepath.Join(dir, "addresses"))
}

func networkConfig(dir string) string { return filepath.Join(dir, "cni") }

// writeNetworkConfig writes the CNI configuration, which connects pods to the bridge.
// It sets no routes: isDefaultGateway adds the default route, and a second one fails.
func writeNetworkConfig(dir, addresses string) error {
	type object = map[string]any
	config, err := json.Marshal(object{
		"cniVersion": "0.3.1", "name": "pods",
		"plugins": []object{{
			"type": "bridge", "bridge": bridge, "isGateway": true, "isDefaultGateway": true, "hairpinMode": true, "ipMasq": false,
			"ipam": object{"type": "host-local", "dataDir": addresses, "ranges": [][]object{{{"subnet": podRange}}}},
		}},
	})
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "10-pods.conflist"), config, 0o600)
	}
	if err != nil {
		return fmt.Errorf("configure the pod network: %w", err)
	}
	return nil
}

// run runs a program and returns its output in the error if it fails.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// writeImage writes an image with a single static program as its entrypoint, in the
// format of docker save.
func writeImage(archive, name, binary string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	path := filepath.Base(binary)
	layer, err := tarOf(member{path, 0o755, program})
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	type object = map[string]any
	config, err := json.Marshal(object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": []string{"/" + path}},
		"rootfs": object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	manifest, manifestErr := json.Marshal([]object{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err := errors.Join(err, manifestErr); err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	data, err := tarOf(member{"manifest.json", 0o644, manifest}, member{"config.json", 0o644, config}, member{"layer.tar", 0o644, layer})
	if err == nil {
		err = os.WriteFile(archive, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	return nil
}

type member struct {
	name string
	mode int64
	data []byte
}

func tarOf(members ...member) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(m.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const bridge = "pods0"

// plugins is where Debian keeps those of CNI.
const plugins = "/usr/lib/cni"

// makeNetwork makes the bridge that pods are put on. It is made before there is a
// pod, since the API server listens on its address.
func makeNetwork(ctx context.Context, dir string) error {
	for _, args := range []string{
		"link add " + bridge + " type bridge",
		"addr add " + Host + "/16 dev " + bridge,
		"link set " + bridge + " up",
	} {
		if err := run(ctx, "ip", strings.Fields(args)...); err != nil {
			return fmt.Errorf("make the network of pods: %w", err)
		}
	}
	// The switch is one of the network namespace's own.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		return fmt.Errorf("make the network of pods: %w", err)
	}
	return writeNetworkConfig(networkConfig(dir), filepath.Join(dir, "addresses"))
}

func networkConfig(dir string) string { return filepath.Join(dir, "cni") }

// writeNetworkConfig tells containerd how a pod gets onto the bridge. There are no
// routes beside isDefaultGateway: it makes the one there is, and a second fails.
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
		return fmt.Errorf("configure the network of pods: %w", err)
	}
	return nil
}

// run runs a program that says something only where it fails.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

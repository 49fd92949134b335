package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Tools returns the folder with the programs of the control plane, and checks that it
// contains those with the given names. It does not build them, which takes minutes.
func Tools(ctx context.Context, names ...string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", fmt.Errorf("find the tools: %w", err)
	}
	script := filepath.Join(root, "testdata", "cluster", "build.sh")
	out, err := exec.CommandContext(ctx, script, "-print").Output()
	if err != nil {
		return "", fmt.Errorf("find the tools: run %s: %w", script, err)
	}
	dir := strings.TrimSpace(string(out))
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("find the tools: no %s in %s: run make tools or make e2e", name, dir)
		}
	}
	return dir, nil
}

// moduleRoot returns the folder that contains testdata/cluster. It searches upwards
// from this source file or, if the binary was built with -trimpath, from the working
// folder.
func moduleRoot() (string, error) {
	var starts []string
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	for _, dir := range starts {
		for {
			if _, err := os.Stat(filepath.Join(dir, "testdata", "cluster", "build.sh")); err == nil {
				return dir, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", errors.New("no testdata/cluster/build.sh in any folder above")
}

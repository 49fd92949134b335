package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cgroupPatterns are the paths of cgroups: version 2 has one folder for all
// controllers, version 1 one for each.
var cgroupPatterns = []string{"/sys/fs/cgroup/%s", "/sys/fs/cgroup/*/%s"}

// makeCgroups creates the parent cgroup of the pods of the node in a folder.
func makeCgroups(dir string) error {
	roots := []string{"/sys/fs/cgroup"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		if roots, err = filepath.Glob("/sys/fs/cgroup/*"); err != nil {
			return fmt.Errorf("create cgroups: %w", err)
		}
	}
	for _, root := range roots {
		own := filepath.Join(root, filepath.Base(dir))
		if err := os.Mkdir(own, 0o755); err != nil {
			return fmt.Errorf("create cgroups: %w", err)
		}
		// In version 1, cpuset starts empty and rejects processes.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if all, err := os.ReadFile(filepath.Join(root, file)); err == nil {
				if err := os.WriteFile(filepath.Join(own, file), all, 0o600); err != nil {
					return fmt.Errorf("create cgroups: %w", err)
				}
			}
		}
	}
	return nil
}

// removeCgroups removes the cgroups of the node in a folder. The kernel has already
// ended its processes with their namespace.
func removeCgroups(dir string) error {
	var errs []error
	for _, root := range cgroups(filepath.Base(dir)) {
		errs = append(errs, removeCgroup(root))
	}
	return errors.Join(errs...)
}

// removeOrphanedCgroups removes the cgroups of nodes whose folder no longer exists.
// Cgroups that can't be removed are in use.
func removeOrphanedCgroups() {
	for _, root := range cgroups("kubetest-*") {
		if _, err := os.Stat(filepath.Join(os.TempDir(), filepath.Base(root))); errors.Is(err, fs.ErrNotExist) {
			_ = removeCgroup(root)
		}
	}
}

func cgroups(name string) []string {
	var found []string
	for _, pattern := range cgroupPatterns {
		// The only possible error is a malformed pattern.
		more, _ := filepath.Glob(fmt.Sprintf(pattern, name))
		found = append(found, more...)
	}
	slices.Sort(found)
	return found
}

// removeCgroup removes a cgroup and those below it, deepest first. The files in a
// cgroup disappear with it.
func removeCgroup(root string) error {
	var folders []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove cgroup: %w", err)
	}
	slices.Reverse(folders)
	for _, path := range folders {
		if err := removeSoon(path); err != nil {
			return fmt.Errorf("remove cgroup: %w", err)
		}
	}
	return nil
}

// removeSoon removes the folder of a cgroup, which stays busy for a moment after its
// last process has ended.
func removeSoon(path string) (err error) {
	for range 100 {
		if err = os.Remove(path); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

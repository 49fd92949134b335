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

// Those of version 1 are in a folder for each controller, those of version 2 are
// in one for all.
var cgroupPatterns = []string{"/sys/fs/cgroup/%s", "/sys/fs/cgroup/*/%s"}

// makeCgroups makes the one that the pods of a node in that folder are put under.
func makeCgroups(dir string) error {
	roots := []string{"/sys/fs/cgroup"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		if roots, err = filepath.Glob("/sys/fs/cgroup/*"); err != nil {
			return fmt.Errorf("make cgroups: %w", err)
		}
	}
	for _, root := range roots {
		own := filepath.Join(root, filepath.Base(dir))
		if err := os.Mkdir(own, 0o755); err != nil {
			return fmt.Errorf("make cgroups: %w", err)
		}
		// In version 1 these two are empty at first, and no process may enter.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if all, err := os.ReadFile(filepath.Join(root, file)); err == nil {
				if err := os.WriteFile(filepath.Join(own, file), all, 0o600); err != nil {
					return fmt.Errorf("make cgroups: %w", err)
				}
			}
		}
	}
	return nil
}

// removeCgroups removes the cgroups of a node in that folder. Its processes are
// gone: the kernel has ended them with their namespace.
func removeCgroups(dir string) error {
	var errs []error
	for _, root := range cgroups(filepath.Base(dir)) {
		errs = append(errs, removeCgroup(root))
	}
	return errors.Join(errs...)
}

// removeOrphanedCgroups removes those of nodes whose folder is gone, since it was
// removed for want of an owner. What cannot be removed is in use.
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
		// The patterns are fine, whatever a folder is called by os.MkdirTemp.
		more, _ := filepath.Glob(fmt.Sprintf(pattern, name))
		found = append(found, more...)
	}
	slices.Sort(found)
	return found
}

// removeCgroup removes a cgroup and those in it, deepest first. Files in them are
// no files, and go with them.
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

// removeSoon removes the folder of a cgroup. For a moment after its last process
// has ended it is busy.
func removeSoon(path string) (err error) {
	for range 100 {
		if err = os.Remove(path); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

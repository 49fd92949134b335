package kubetest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	folderPattern = "kubetest-*"
	lockName      = "lock"
)

// ClaimFolder makes a temporary folder and locks it for as long as the process
// lives and the lock is open. The caller removes the folder, and closes the lock
// thereafter. It also removes the folders of processes that were killed: with the
// log that etcd allocates in advance, each takes 64 MB and more.
func ClaimFolder() (dir string, lock *os.File, err error) {
	removeOrphans()
	dir, err = os.MkdirTemp("", folderPattern)
	if err != nil {
		return "", nil, fmt.Errorf("make folder: %w", err)
	}
	lock, err = os.Create(filepath.Join(dir, lockName))
	if err == nil {
		err = tryLock(lock)
	}
	if err != nil {
		return "", nil, fmt.Errorf("lock folder: %w", err)
	}
	return dir, lock, nil
}

// removeOrphans removes folders that nobody holds. What cannot be removed is
// somebody else's and stays.
func removeOrphans() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), folderPattern, lockName))
	if err != nil {
		return // the pattern is constant and fine
	}
	for _, path := range locks {
		if isOrphan(path) {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
}

func isOrphan(path string) bool {
	lock, err := os.Open(path)
	if err != nil {
		return false
	}
	defer lock.Close()
	info, err := lock.Stat()
	// A young one may be made this very moment and not be locked yet.
	return err == nil && time.Since(info.ModTime()) > time.Minute && tryLock(lock) == nil
}

// tryLock locks a file unless another process has. The kernel unlocks it when
// the process ends, however it does.
func tryLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

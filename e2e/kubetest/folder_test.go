package kubetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOnlyFoldersOfTheDeadAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	hourAgo := time.Now().Add(-time.Hour)
	claim := func() (string, *os.File) {
		dir, lock, err := ClaimFolder()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, lockName), hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
		return dir, lock
	}
	dead, deadLock := claim()
	held, heldLock := claim()
	defer heldLock.Close()
	deadLock.Close() // as the kernel does when a process ends
	young, youngLock := claim()
	youngLock.Close()
	if err := os.Chtimes(filepath.Join(young, lockName), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}

	removeOrphans()
	for dir, want := range map[string]bool{dead: false, held: true, young: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("folder %s: %v, want it kept: %v", dir, err, want)
		}
	}
}

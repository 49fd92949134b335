package manifests_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestReadOfAPipeThatNeverEndsEndsWithItsDeadline(t *testing.T) {
	never, keep := io.Pipe()
	defer keep.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	src := &manifests.Source{Paths: []string{"-"}, Stdin: never}
	if _, err := src.Read(ctx, []snapshot.Kind{snapshot.Pods}, &b); err != nil {
		t.Fatalf("a deadline is no error but leaves kinds unread: %v", err)
	}
	if got := b.Freeze().Status(snapshot.Pods); got != snapshot.Failed {
		t.Errorf("pods are %s, want %s", got, snapshot.Failed)
	}
}

func TestReadOfAPipeThatNeverEndsEndsWhenCancelled(t *testing.T) {
	never, keep := io.Pipe()
	defer keep.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b snapshot.Builder
	src := &manifests.Source{Paths: []string{"-"}, Stdin: never}
	if _, err := src.Read(ctx, []snapshot.Kind{snapshot.Pods}, &b); err == nil {
		t.Error("a cancelled read gave no error")
	}
}

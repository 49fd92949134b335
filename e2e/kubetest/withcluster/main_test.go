package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

func TestCommandRunsBesideACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	var stdout, stderr bytes.Buffer
	args := []string{"--", "sh", "-c", `kubectl get namespaces -o name && echo "$KUBECONFIG" && exit 7`}
	code := run(t.Context(), args, nil, &stdout, &stderr)
	if code != 7 || !strings.Contains(stdout.String(), "namespace/kube-system") {
		t.Errorf("code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	lines := strings.Fields(stdout.String())
	if _, err := os.Stat(lines[len(lines)-1]); !os.IsNotExist(err) {
		t.Errorf("the cluster's folder is still there: %v", err)
	}
}

func TestSignalEndsCommandAndCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	ctx, cancel := context.WithCancel(t.Context())
	started := &firstWrite{done: cancel}
	var stderr bytes.Buffer
	began := time.Now()
	code := run(ctx, []string{"sh", "-c", "echo started; exec sleep 60"}, nil, started, &stderr)
	if code != 128+15 || time.Since(began) > 30*time.Second {
		t.Errorf("code %d after %v\n%s", code, time.Since(began), stderr.String())
	}
}

// firstWrite calls done when something is written.
type firstWrite struct{ done func() }

func (w *firstWrite) Write(p []byte) (int, error) {
	w.done()
	return len(p), nil
}

func TestCommandIsMissing(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"--"}, nil, &stdout, &stderr); code != exitUsage || stderr.Len() == 0 {
		t.Errorf("code %d, %q", code, stderr.String())
	}
}

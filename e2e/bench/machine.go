package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// describeMachine says what is measured on, and how busy it is with other things.
func describeMachine() string {
	parts := []string{fmt.Sprintf("%d processors", runtime.NumCPU())}
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		parts[0] += " (" + model + ")"
	}
	if total := field("/proc/meminfo", "MemTotal"); total != "" {
		parts = append(parts, total+" of memory")
	}
	parts = append(parts, runtime.GOOS+"/"+runtime.GOARCH, runtime.Version())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		parts = append(parts, "load average before the start "+strings.Join(strings.Fields(string(load))[:3], " "))
	}
	return strings.Join(parts, ", ")
}

// field returns what a file under /proc says behind a colon, empty where there is no
// such file or line.
func field(path, name string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// countFindings sweeps once and returns how many findings there are.
func (o *options) countFindings(ctx context.Context, cluster *kubetest.Cluster) (int, error) {
	cmd := exec.CommandContext(ctx, o.audit, "--once", "-o", "json", "--kubeconfig", cluster.Kubeconfig(kubetest.Admin))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return 0, fmt.Errorf("count findings: %w", err)
	}
	var report struct{ Findings []struct{} }
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, fmt.Errorf("count findings: %w", err)
	}
	return len(report.Findings), nil
}

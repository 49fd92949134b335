package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestTerminal runs the program on a pseudo-terminal: only there may it print
// color and, while it reads, progress.
func TestTerminal(t *testing.T) {
	for _, row := range []struct {
		name            string
		env             []string
		color, progress bool
	}{
		{"a terminal", []string{"TERM=xterm"}, true, true},
		{"a user who does not want color", []string{"TERM=xterm", "NO_COLOR=1"}, false, true},
		{"a dumb terminal", []string{"TERM=dumb"}, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			screen := runOnTerminal(t, row.env, "--once", "--from", estateDir)
			// On a busy machine there is progress to report.
			screen = progressLine.ReplaceAllString(screen, "")
			report, progress := strings.CutPrefix(screen, "Reading "+estateDir+"...\r\x1b[K")
			if progress != row.progress {
				t.Errorf("progress printed and cleared: %t, want %t; the screen begins %q", progress, row.progress, screen[:100])
			}
			if color := strings.Contains(report, "\x1b[1;31mhigh\x1b[0m"); color != row.color {
				t.Errorf("color: %t, want %t", color, row.color)
			}
			if !row.color && strings.Contains(report, "\x1b") {
				t.Error("an escape sequence without color")
			}
			if !strings.Contains(report, "basket.example.com") {
				t.Errorf("no report:\n%s", report)
			}
		})
	}
}

// progressLine matches the progress that is written while a sweep reads.
var progressLine = regexp.MustCompile(`\r\x1b\[KReading [^\r]*\.\.\. \d+ kinds?, \d+ objects?`)

// TestNoTerminal: without a terminal, standard error stays empty.
func TestNoTerminal(t *testing.T) {
	if got := spawn(t, "--once", "--from", estateDir); got.stderr != "" || strings.Contains(got.stdout, "\x1b") {
		t.Errorf("standard error %q", got.stderr)
	}
}

// runOnTerminal runs the program with a terminal for its outputs and returns what
// was written to that.
func runOnTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	master, slave := openTerminal(t)
	screen := make(chan string, 1)
	go func() {
		var b bytes.Buffer
		_, _ = io.Copy(&b, master) // an error means that the other end is closed
		screen <- b.String()
	}()
	cmd := exec.CommandContext(t.Context(), "audit", args...) // TestMain puts it on the PATH
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.Stdout, cmd.Stderr = slave, slave
	err := cmd.Run()
	slave.Close()
	if code := cmd.ProcessState.ExitCode(); code != exitFindings {
		t.Errorf("exit %d (%v), want %d", code, err, exitFindings)
	}
	select {
	case s := <-screen:
		return s
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal does not end")
		return ""
	}
}

// openTerminal returns the two ends of a pseudo-terminal: what is written to the
// slave is read from the master.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	var locked, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatalf("open pseudo-terminal: %v", errno)
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
)

func TestStop(t *testing.T) {
	done := func(err error) chan error {
		c := make(chan error, 1)
		c <- err
		return c
	}
	never := make(chan error)
	later := make(chan error, 1)
	time.AfterFunc(2*stopGrace, func() { later <- nil })
	for _, tt := range []struct {
		name    string
		grace   time.Duration // none: the command does not stop gracefully
		once    bool          // it only finishes what is under way
		signal  os.Signal
		again   bool
		done    chan error
		code    int
		message string
	}{
		{"a service is terminated", time.Minute, false, syscall.SIGTERM, false, done(nil), 0, ""},
		{"a service is interrupted", time.Minute, false, syscall.SIGINT, false, done(nil), 130, ""},
		{"a service fails just then", time.Minute, false, syscall.SIGTERM, false, done(&exitError{exitUsage, errors.New("no")}), 2, "audit: no\n"},
		{"a service does not stop", time.Millisecond, false, syscall.SIGTERM, false, never, 143, "audit: received signal terminated, work in progress was canceled\n"},
		{"a service is interrupted twice", time.Minute, false, syscall.SIGINT, true, never, 130, "audit: received signal interrupt, work in progress was canceled\n"},
		{"a report is terminated", 0, false, syscall.SIGTERM, false, done(nil), 143, "audit: received signal terminated, no report was printed\n"},
		{"a publisher is terminated", time.Minute, true, syscall.SIGTERM, false, done(nil), 143, "audit: received signal terminated, no report was printed\n"},
		{"a publisher finishes what is under way", time.Minute, true, syscall.SIGTERM, false, later, 143, "audit: received signal terminated, no report was printed\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var errs bytes.Buffer
			signals := make(chan os.Signal, 1)
			if tt.again {
				signals <- tt.signal
			}
			c := command{err: &errs, signals: signals, stopping: &stopping{}}
			switch {
			case tt.once:
				c.stopping.finish(tt.grace)
			case tt.grace > 0:
				c.stopping.allow(tt.grace)
			}
			began := time.Now()
			if code := c.stop(tt.signal, tt.done); code != tt.code || errs.String() != tt.message {
				t.Errorf("exit %d, %q; want %d, %q", code, &errs, tt.code, tt.message)
			}
			if tt.done == later && time.Since(began) < stopGrace {
				t.Error("it did not wait")
			}
		})
	}
}

// TestInterrupt stops the built program with a signal, while it waits for input that
// never ends. No part of a report may be printed.
func TestInterrupt(t *testing.T) {
	binary := buildAudit(t)
	waits := []struct {
		name  string
		start func(*testing.T, *process)
	}{
		{"a server that never answers", waitForServer},
		{"a standard input that never ends", waitForInput},
	}
	for _, end := range []struct {
		signal syscall.Signal
		code   int
		line   string
	}{
		{syscall.SIGINT, 130, "audit: received signal interrupt, no report was printed\n"},
		{syscall.SIGTERM, 143, "audit: received signal terminated, no report was printed\n"},
	} {
		for _, wait := range waits {
			t.Run(end.signal.String()+", "+wait.name, func(t *testing.T) {
				p := &process{cmd: exec.CommandContext(t.Context(), binary, "--once")}
				p.cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
				p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
				wait.start(t, p)
				took := p.end(t, end.signal)
				if took > time.Second {
					t.Errorf("ended after %v", took)
				}
				if code := p.cmd.ProcessState.ExitCode(); code != end.code {
					t.Errorf("exit %d, want %d", code, end.code)
				}
				if p.stdout.Len() > 0 || p.stderr.String() != end.line {
					t.Errorf("standard output %q, standard error %q, want %q there", &p.stdout, &p.stderr, end.line)
				}
			})
		}
	}
}

// process is a running program. The context of its command kills it where the
// test does not end it.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// end sends the signal and returns how long the process lived on.
func (p *process) end(t *testing.T, signal syscall.Signal) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
	return time.Since(began)
}

// waitForServer starts the program against a server that accepts connections and never
// responds, and returns after the first request.
func waitForServer(t *testing.T, p *process) {
	t.Helper()
	url, asked := silentServer(t)
	p.cmd.Args = append(p.cmd.Args, "--server", url)
	start(t, p)
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.Fatal("no request reached the server")
	}
}

// waitForInput starts the program with a pipe as its standard input, and returns
// when it has read more than a pipe holds.
func waitForInput(t *testing.T, p *process) {
	t.Helper()
	p.cmd.Args = append(p.cmd.Args, "--from", "-")
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	start(t, p)
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(in, strings.Repeat("# and so on\n", 1<<16))
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the standard input is not read")
	}
}

func start(t *testing.T, p *process) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// silentServer returns the URL of a server that never answers, and a channel
// that is closed at the first request.
func silentServer(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	first := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			if n > 0 {
				continue
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				close(first)
			}
		}
	}()
	return "http://" + listener.Addr().String(), first
}

// TestErrorsAreHarmless: an error quotes arguments, which a script may have taken
// from an untrusted source.
func TestErrorsAreHarmless(t *testing.T) {
	const hostile = "\x1b[2J\x1b]0;x\x07\u202ecod.exe\u202c\r"
	for _, args := range [][]string{
		{hostile},
		{"--" + hostile},
		{"--once", "-o", hostile},
		{"--once", "--fail-on", hostile},
		{"--once", "--timeout", hostile},
		{"--once", "--rule", hostile},
		{"--once", "--config", hostile},
		{"--once", "--from", hostile},
		{"--once", "--kubeconfig", hostile},
		{"--once", "--kubeconfig", "/dev/null", "--context", hostile},
		{"rules", hostile},
		{"version", hostile},
	} {
		t.Run(strings.Join(args[:len(args)-1], " "), func(t *testing.T) {
			got := execute(args...)
			if got.code != exitUsage || got.stdout != "" {
				t.Errorf("exit %d, want %d; standard output %q", got.code, exitUsage, got.stdout)
			}
			for _, r := range got.stderr {
				if r != '\n' && !unicode.IsPrint(r) {
					t.Fatalf("standard error holds %q: %q", r, got.stderr)
				}
			}
			if !strings.Contains(got.stderr, "cod.exe") {
				t.Errorf("standard error does not say what was wrong: %q", got.stderr)
			}
		})
	}
}

package main

import (
	"strings"
	"testing"
	"unicode"
)

// TestErrorsAreHarmless: an error quotes what the program was given, which may
// come from a script that took it from elsewhere.
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

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDemo runs what `make demo` shows.
func TestDemo(t *testing.T) {
	c := control.Cluster(t)
	audit, err := exec.LookPath("audit") // TestMain puts it on the PATH
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), moduleRoot+"/testdata/demo.sh", audit)
	cmd.Env = append(os.Environ(), c.Env()...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("demo.sh: %v\n%s", err, &out)
	}
	for _, want := range []string{"18 findings", "tmp-debug opens ingress to everyone", "clean in namespace tracking: ", "\ngone: default-deny-present-"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not contain %q:\n%s", want, &out)
		}
	}
}

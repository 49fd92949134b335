package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// rootless says that this process runs where there are no certificates.
const rootless = "AUDIT_TEST_ROOTLESS"

// TestRootsAreInTheBinary: in the image there is no folder of certificates, and
// Slack must be known all the same. Which roots count is decided once for each
// process, so the test is a process of its own.
func TestRootsAreInTheBinary(t *testing.T) {
	if os.Getenv(rootless) != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			t.Fatal(err)
		}
		if pool.Equal(x509.NewCertPool()) {
			t.Error("without the system's certificates there are none")
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestRootsAreInTheBinary$", "-test.v")
	cmd.Env = append(os.Environ(), rootless+"=1", "SSL_CERT_DIR="+empty, "SSL_CERT_FILE="+filepath.Join(empty, "none"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

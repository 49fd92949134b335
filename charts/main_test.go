package charts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// trailFile is the audit log, in the folder of the cluster.
const trailFile = "audit.log"

var control = &kubetest.Shared{Options: kubetest.Options{
	// The server runs in another folder than the test.
	APIServerFlags: []string{"--audit-policy-file", absolute(filepath.Join("testdata", "policy.yaml")), "--audit-log-path", trailFile},
}}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

func absolute(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

package kubetest

import (
	"os"
	"testing"
)

var control = &Shared{}

func TestMain(m *testing.M) {
	if os.Getenv(orphanFolder) != "" {
		os.Exit(runOrphan())
	}
	os.Exit(control.Main(m))
}

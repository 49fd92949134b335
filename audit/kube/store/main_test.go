package store_test

import (
	"os"
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

func kubectl(t *testing.T, c *kubetest.Cluster, args ...string) {
	t.Helper()
	if _, err := c.Kubectl(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"testing"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// TestLiveHostileCases applies what a tenant may write in order to hide to a real API
// server, which stores it, and compares the live sweep with what the case expects.
func TestLiveHostileCases(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	for name, hostile := range readReported(t, "hostile") {
		t.Run(name, func(t *testing.T) {
			if err := c.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := applyCase(t, c, hostile.path); err != nil {
				t.Fatal(err)
			}
			for _, mistake := range hostile.mistakes(t, "--kubeconfig", c.Kubeconfig(kubetest.Admin)) {
				t.Error(mistake)
			}
		})
	}
}

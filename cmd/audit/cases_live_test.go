package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
)

// refused are the cases of which an API server refuses an object, by name, each
// with the reason that it gives.
var refused = map[string]string{
	// It leaves out what the status of a finished Job has had since Kubernetes 1.31.
	"np-17-finished-pods": "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
	// It has a static pod without the node that it is on.
	"np-31-platform-namespaces": "must set spec.nodeName if mirror pod annotation is set",
}

// serverNamespaces are those that every API server makes for itself.
const serverNamespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {kubernetes.io/metadata.name: default}}
---
apiVersion: v1
kind: Namespace
metadata: {name: kube-node-lease, labels: {kubernetes.io/metadata.name: kube-node-lease}}
---
apiVersion: v1
kind: Namespace
metadata: {name: kube-public, labels: {kubernetes.io/metadata.name: kube-public}}
---
apiVersion: v1
kind: Namespace
metadata: {name: kube-system, labels: {kubernetes.io/metadata.name: kube-system}}
`

// TestLiveCases applies every case to a real API server, and holds the live sweep
// against what the case expects and against the sweep of the manifests.
func TestLiveCases(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	common := filepath.Join(t.TempDir(), "namespaces.yaml")
	writeFile(t, common, serverNamespaces)
	for _, tc := range readCases(t) {
		t.Run(tc.name, func(t *testing.T) {
			if err := c.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := applyCase(t, c, tc)
			if why, ok := refused[tc.name]; ok || err != nil {
				if !ok || err == nil || !strings.Contains(err.Error(), why) {
					t.Fatalf("applied: %v, want a refusal with %q", err, why)
				}
				return
			}
			live := sweep(t, 0, "--kubeconfig", c.Kubeconfig(kubetest.Admin), "--fail-on", "none")
			for _, mistake := range mistakes(t, tc, live) {
				if _, ok := disputed[tc.name]; !ok {
					t.Error(mistake)
				}
			}
			// The case comes last: its own Namespaces count.
			manifests := sweep(t, 0, "--from", common, "--from", tc.path, "--fail-on", "none")
			compareJudgements(t, manifests, live)
		})
	}
}

// compareJudgements compares what two reports say of the objects, but for times,
// and for causes, which rest on them.
func compareJudgements(t *testing.T, want, got *report.Report) {
	t.Helper()
	for _, part := range []struct {
		name      string
		want, got any
	}{
		{"complete", want.Complete, got.Complete},
		{"rules", want.Rules, got.Rules},
		{"findings", findings(want), findings(got)},
		{"advisories", advisories(want), advisories(got)},
		{"isolation", want.Isolation, got.Isolation},
	} {
		if diff := cmp.Diff(part.want, part.got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part.name, diff)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

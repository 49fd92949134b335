package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
)

// TestOwnersOfACluster: the right to list Namespaces is enough to show owners;
// without it, no owners are shown.
func TestOwnersOfACluster(t *testing.T) {
	c := control.Cluster(t)
	kubectl(t, c, "create", "namespace", "shop")
	kubectl(t, c, "annotate", "namespace", "shop", "owner=team-a", "example.com/channel=#team-shop", "example.com/other=x")
	config := filepath.Join(t.TempDir(), "audit.yaml")
	text := "slack: {channelFrom: {namespaceAnnotation: example.com/channel, allow: ['team-*']}}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"owners", "-n", "shop", "-o", "json", "--config", config, "--kubeconfig", c.Kubeconfig(kubetest.Guest)}

	refused := execute(args...)
	if refused.code != exitIncomplete || !strings.Contains(refused.stderr, "read namespaces: forbidden") {
		t.Errorf("without the right: exit %d, %s", refused.code, refused.stderr)
	}
	allow(t, c, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list"}})
	got := execute(args...)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	var list report.OwnerList
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
		t.Fatal(err)
	}
	want := []report.NamespaceOwner{{
		Namespace: "shop", Owner: "team-a", DecidedBy: "annotation owner of the Namespace",
		Channel: "team-shop", Allowed: true, Destination: report.Destination{From: "annotation", Channel: "team-shop"},
	}}
	if diff := cmp.Diff(want, list.Namespaces); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

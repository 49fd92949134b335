package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
)

// refused are the cases with an object that an API server rejects, by name, each
// with the reason.
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

// TestLiveCases applies every case to a real API server, and compares the live
// sweep with what the case expects and with the sweep of the manifests.
func TestLiveCases(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	common := filepath.Join(t.TempDir(), "namespaces.yaml")
	writeFile(t, common, serverNamespaces)
	for _, tc := range readCases(t) {
		t.Run(tc.name, func(t *testing.T) {
			if err := c.Empty(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := applyCase(t, c, tc.path)
			if why, ok := refused[tc.name]; ok || err != nil {
				if !ok || err == nil || !strings.Contains(err.Error(), why) {
					t.Fatalf("applied: %v, want a rejection with %q", err, why)
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
			compareEvaluations(t, manifests, live)
		})
	}
}

// compareEvaluations compares what two reports say of the objects, except for times,
// and for causes, which depend on them.
func compareEvaluations(t *testing.T, want, got *report.Report) {
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

// applyCase brings the cluster into the state that a case describes: the objects
// less what only a server sets, then their status, and then it deletes those that
// are being deleted, which a finalizer holds.
func applyCase(t *testing.T, c *kubetest.Cluster, path string) error {
	t.Helper()
	var objects, statuses, deleted, owned []map[string]any
	uids := map[string]any{}
	for _, o := range readObjects(t, path) {
		metadata := o["metadata"].(map[string]any)
		uids[ownerID(o["kind"], metadata["namespace"], metadata["name"])] = metadata["uid"]
		if _, ok := metadata["ownerReferences"]; ok {
			owned = append(owned, o)
		}
		if _, deleting := metadata["deletionTimestamp"]; deleting {
			deleted = append(deleted, identity(o))
			if _, held := metadata["finalizers"]; !held && o["kind"] != "Namespace" {
				metadata["finalizers"] = []string{"example.com/hold"}
			}
		} else if status, ok := o["status"]; ok {
			s := identity(o)
			s["status"] = status
			statuses = append(statuses, s)
		}
		for _, field := range []string{
			"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
		} {
			delete(metadata, field)
		}
		delete(o, "status")
		objects = append(objects, o)
	}
	dir := t.TempDir()
	for _, step := range []struct {
		objects []map[string]any
		verb    []string
	}{
		{objects, []string{"apply", "--server-side"}},
		{statuses, []string{"apply", "--server-side", "--subresource=status"}},
		{deleted, []string{"delete", "--wait=false"}},
	} {
		if len(step.objects) == 0 {
			continue
		}
		file := filepath.Join(dir, "objects.yaml")
		writeObjects(t, file, step.objects)
		if _, err := c.Kubectl(t.Context(), append(step.verb, "-f", file)...); err != nil {
			return err
		}
	}
	for _, o := range owned {
		adopt(t, c, o, uids)
	}
	return nil
}

func ownerID(kind, namespace, name any) string { return fmt.Sprint(kind, " ", namespace, "/", name) }

// adopt gives the owner references of an object the UIDs that the server gave the owners,
// where they are right in the case: the owner has none there, or the same.
func adopt(t *testing.T, c *kubetest.Cluster, o map[string]any, uids map[string]any) {
	t.Helper()
	metadata := o["metadata"].(map[string]any)
	references := metadata["ownerReferences"].([]any)
	for _, r := range references {
		r := r.(map[string]any)
		uid, there := uids[ownerID(r["kind"], metadata["namespace"], r["name"])]
		if there && (uid == nil || uid == r["uid"]) {
			r["uid"] = kubectl(t, c, "get", fmt.Sprint(r["kind"]), fmt.Sprint(r["name"]), "-n", fmt.Sprint(metadata["namespace"]), "-o", "jsonpath={.metadata.uid}")
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": references}})
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "patch", fmt.Sprint(o["kind"]), fmt.Sprint(metadata["name"]), "-n", fmt.Sprint(metadata["namespace"]), "--type=merge", "-p", string(patch))
}

// identity returns an object with nothing but its identity.
func identity(o map[string]any) map[string]any {
	metadata := map[string]any{}
	for _, field := range []string{"name", "namespace"} {
		if value, ok := o["metadata"].(map[string]any)[field]; ok {
			metadata[field] = value
		}
	}
	return map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": metadata}
}

func readObjects(t *testing.T, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		var o map[string]any
		if err == nil {
			err = yaml.Unmarshal(document, &o)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if o != nil {
			objects = append(objects, o)
		}
	}
}

func writeObjects(t *testing.T, path string, objects []map[string]any) {
	t.Helper()
	var text strings.Builder
	for _, o := range objects {
		document, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(document))
	}
	writeFile(t, path, text.String())
}

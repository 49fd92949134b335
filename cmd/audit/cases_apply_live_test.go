package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// applyCase brings the cluster into the state that a case describes: the objects
// less what only a server sets, then their status, and then it deletes those that
// are being deleted, which a finalizer holds.
func applyCase(t *testing.T, c *kubetest.Cluster, tc testCase) error {
	t.Helper()
	var objects, statuses, deleted []map[string]any
	for _, o := range readObjects(t, tc.path) {
		metadata := o["metadata"].(map[string]any)
		if _, deleting := metadata["deletionTimestamp"]; deleting {
			deleted = append(deleted, identity(o))
			if o["kind"] != "Namespace" {
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
	return nil
}

// identity returns an object with nothing but what it is called.
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

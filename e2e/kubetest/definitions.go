package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

var definitionKind = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// InstallCRDs creates the CustomResourceDefinitions in the given files and in the
// .yaml files of the given folders, and ignores other objects. It returns when the
// API server serves the kinds and discovery lists them.
func (c *Cluster) InstallCRDs(ctx context.Context, paths ...string) error {
	definitions, err := readCRDs(paths)
	if err != nil {
		return fmt.Errorf("install CustomResourceDefinitions: %w", err)
	}
	client, err := dynamic.NewForConfig(c.Config(Admin))
	if err != nil {
		return fmt.Errorf("install CustomResourceDefinitions: %w", err)
	}
	err = forEach(definitions, func(d *unstructured.Unstructured) error {
		if _, err := client.Resource(definitionKind).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s: %w", d.GetName(), err)
		}
		return nil
	})
	if err == nil {
		err = c.awaitServed(ctx, definitions)
	}
	if err != nil {
		return fmt.Errorf("install CustomResourceDefinitions: %w", err)
	}
	return nil
}

// readCRDs reads the definitions in files and folders. A path without a definition
// is an error: a test would run without the kinds that it needs.
func readCRDs(paths []string) ([]*unstructured.Unstructured, error) {
	var definitions []*unstructured.Unstructured
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, err
			}
		}
		before := len(definitions)
		for _, file := range files {
			more, err := readFile(file)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			definitions = append(definitions, more...)
		}
		if len(definitions) == before {
			return nil, fmt.Errorf("read %s: no CustomResourceDefinition found", path)
		}
	}
	return definitions, nil
}

func readFile(path string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var definitions []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return definitions, nil
		}
		if err != nil {
			return nil, err
		}
		d := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &d.Object); err != nil {
			return nil, err
		}
		if d.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, d)
		}
	}
}

// awaitServed waits until discovery lists every served version of the kinds.
func (c *Cluster) awaitServed(ctx context.Context, definitions []*unstructured.Unstructured) error {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config(Admin))
	if err != nil {
		return err
	}
	var wanted []schema.GroupVersionResource
	for _, d := range definitions {
		wanted = append(wanted, servedVersions(d)...)
	}
	return eventually(ctx, "wait for custom kinds", func(ctx context.Context) (bool, error) {
		_, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
		if err != nil {
			return false, err
		}
		var served []schema.GroupVersionResource
		for _, list := range lists {
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			if err != nil {
				return false, fmt.Errorf("parse group and version: %w", err)
			}
			for _, r := range list.APIResources {
				served = append(served, version.WithResource(r.Name))
			}
		}
		return !slices.ContainsFunc(wanted, func(kind schema.GroupVersionResource) bool {
			return !slices.Contains(served, kind)
		}), nil
	})
}

// servedVersions returns the versions that a definition declares as served.
func servedVersions(d *unstructured.Unstructured) []schema.GroupVersionResource {
	group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
	var kinds []schema.GroupVersionResource
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["served"] == true {
			name, _ := version["name"].(string)
			kinds = append(kinds, schema.GroupVersionResource{Group: group, Version: name, Resource: plural})
		}
	}
	return kinds
}

// gatewayModule contains the definitions of the Gateway API, in the version of go.mod.
const gatewayModule = "sigs.k8s.io/gateway-api"

// policyModules contain the definitions of the network policy API: the current kind,
// and the last version of the two kinds that it replaced.
var policyModules = [...]string{"sigs.k8s.io/network-policy-api@v0.3.0", "sigs.k8s.io/network-policy-api@v0.1.7"}

// CRDFolders returns the folders of all CustomResourceDefinitions that tests use:
// testdata/crds and folders of Go modules. A module that is not in Go's cache is
// downloaded.
func CRDFolders(ctx context.Context) ([]string, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, fmt.Errorf("find CustomResourceDefinitions: %w", err)
	}
	folders := []string{filepath.Join(root, "testdata", "crds")}
	gateway, err := moduleFolder(ctx, root, "list", "-m", "-json", gatewayModule)
	if err != nil {
		return nil, err
	}
	folders = append(folders, filepath.Join(gateway, "config", "crd", "standard"))
	for _, module := range policyModules {
		// Outside our module: it is not in go.mod.
		dir, err := moduleFolder(ctx, os.TempDir(), "mod", "download", "-json", module)
		if err != nil {
			return nil, err
		}
		folders = append(folders, filepath.Join(dir, "config", "crd", "standard"))
	}
	return folders, nil
}

// moduleFolder runs a go command that describes a module as JSON, and returns the
// folder of the module.
func moduleFolder(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	// The description may contain an error, whatever the exit code.
	var module struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &module); err == nil {
		err = decodeErr
	}
	var exit *exec.ExitError
	switch {
	case module.Dir != "":
		return module.Dir, nil
	case module.Error != "":
		err = errors.New(module.Error)
	case errors.As(err, &exit):
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	case err == nil:
		err = errors.New("the module has no folder")
	}
	return "", fmt.Errorf("find CustomResourceDefinitions: go %s: %w", strings.Join(args, " "), err)
}

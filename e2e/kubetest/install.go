package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

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

// Install makes custom kinds of the definitions in the given files, and in the
// files ending in .yaml of given folders; whatever else is in them is passed over.
// It returns when the API server serves the kinds and says so.
func (c *Cluster) Install(ctx context.Context, paths ...string) error {
	definitions, err := readDefinitions(paths)
	if err != nil {
		return fmt.Errorf("install definitions: %w", err)
	}
	client, err := dynamic.NewForConfig(c.Config(Admin))
	if err != nil {
		return fmt.Errorf("install definitions: %w", err)
	}
	err = each(definitions, func(d *unstructured.Unstructured) error {
		if _, err := client.Resource(definitionKind).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s: %w", d.GetName(), err)
		}
		return nil
	})
	if err == nil {
		err = c.awaitServed(ctx, definitions)
	}
	if err != nil {
		return fmt.Errorf("install definitions: %w", err)
	}
	return nil
}

// readDefinitions reads the definitions in files and folders. None at all is an
// error, since a test would look at a cluster without the kinds that it is about.
func readDefinitions(paths []string) ([]*unstructured.Unstructured, error) {
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
			return nil, fmt.Errorf("read %s: there is no definition", path)
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

// awaitServed waits until every version of the kinds is served that is to be, and
// clients are told so.
func (c *Cluster) awaitServed(ctx context.Context, definitions []*unstructured.Unstructured) error {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config(Admin))
	if err != nil {
		return err
	}
	var wanted []schema.GroupVersionResource
	for _, d := range definitions {
		wanted = append(wanted, defined(d)...)
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

// defined returns the versions of a kind that its definition has served.
func defined(d *unstructured.Unstructured) []schema.GroupVersionResource {
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

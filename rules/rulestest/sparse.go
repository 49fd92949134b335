package rulestest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// checkBare runs the rule on objects of its kinds that have a name and nothing
// else: each alone, and all together.
func checkBare(rule *rules.Rule, fixtures []*fixture) error {
	if len(fixtures) == 0 {
		return nil
	}
	var errs []error
	var all bytes.Buffer
	for _, kind := range rule.Needs {
		gvk, ok := exampleOf(kind, fixtures)
		if !ok {
			continue // checkKinds reports it
		}
		for _, namespace := range []string{"", "bare"} {
			text := bareObject(gvk, namespace)
			all.Write(text)
			if _, err := fixtures[0].evaluateText(rule, text); err != nil {
				errs = append(errs, fmt.Errorf("with nothing but %s: %w", text, err))
			}
		}
	}
	if _, err := fixtures[0].evaluateText(rule, all.Bytes()); err != nil {
		errs = append(errs, fmt.Errorf("with a bare object of each kind: %w", err))
	}
	return errors.Join(errs...)
}

// exampleOf returns the type of some object of a kind in the fixtures.
func exampleOf(kind snapshot.Kind, fixtures []*fixture) (schema.GroupVersionKind, bool) {
	for _, f := range fixtures {
		for _, d := range f.documents {
			if isOf(d.gvk, kind) {
				return d.gvk, true
			}
		}
	}
	return schema.GroupVersionKind{}, false
}

func bareObject(gvk schema.GroupVersionKind, namespace string) []byte {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	metadata := map[string]any{"name": "bare"}
	if namespace != "" {
		// For a kind without namespaces, the same name would mean the same object.
		metadata["name"], metadata["namespace"] = "bare-too", namespace
	}
	text, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata})
	if err != nil {
		panic(err) // a map of strings can always be encoded
	}
	return text
}

// checkSparse removes each optional field of each object in turn, with everything
// below it, and then sets it to null. The rule may find anything but must not fail.
func checkSparse(rule *rules.Rule, f *fixture) error {
	objects := make([]any, len(f.documents))
	texts := make([][]byte, len(f.documents))
	for i, d := range f.documents {
		texts[i] = d.json
		if err := json.Unmarshal(d.json, &objects[i]); err != nil {
			return fmt.Errorf("parse manifest %d: %w", i+1, err)
		}
	}
	var errs []error
	for i := range objects {
		whole := texts[i]
		thin(&objects[i], "", func(change string) {
			if duplicates(objects) {
				return
			}
			var err error
			if texts[i], err = json.Marshal(objects[i]); err == nil {
				_, err = f.evaluateText(rule, bytes.Join(texts, []byte("\n")))
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("with %s in the %s of document %d: %w", change, f.documents[i].gvk.Kind, i+1, err))
			}
		})
		texts[i] = whole
	}
	// A rule that fails at one field usually fails at its neighbors as well.
	return errors.Join(errs[:min(len(errs), 3)]...)
}

// duplicates reports whether two of the objects are the same object, whatever their
// versions: manifests that then differ are a problem of their own. Those without
// a namespace are in the default one.
func duplicates(objects []any) bool {
	seen := map[string]bool{}
	for _, o := range objects {
		u := unstructured.Unstructured{Object: o.(map[string]any)}
		at := fmt.Sprintf("%s %s/%s", u.GetKind(), cmp.Or(u.GetNamespace(), metav1.NamespaceDefault), u.GetName())
		if seen[at] {
			return true
		}
		seen[at] = true
	}
	return false
}

// thin calls evaluate for each way to remove one optional field from a value or to
// set it to null, while the value is changed that way.
func thin(value *any, path string, evaluate func(change string)) {
	switch v := (*value).(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at, kept := path+"."+key, v[key]
			if !required(at) {
				delete(v, key)
				evaluate("no " + at)
				v[key] = nil
				evaluate("null for " + at)
			}
			thin(&kept, at, func(change string) {
				v[key] = kept
				evaluate(change)
			})
			v[key] = kept
		}
	case []any:
		for i, kept := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			*value = slices.Delete(slices.Clone(v), i, i+1)
			evaluate("no " + at)
			*value = v
			v[i] = nil
			evaluate("null for " + at)
			v[i] = kept
			thin(&kept, at, func(change string) {
				v[i] = kept
				evaluate(change)
			})
			v[i] = kept
		}
	}
}

// required reports whether every object has the field at a path.
func required(path string) bool {
	return slices.Contains([]string{".apiVersion", ".kind", ".metadata", ".metadata.name"}, path)
}

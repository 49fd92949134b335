package manifests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// typeMeta is what tells the kind of an object. The items of a list may leave
// it to the list.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// object takes in one object, or each item of a list. What the object does not
// tell of its type is that of inherit; depth is how many lists it is in.
func (r *reader) object(where string, v value, inherit typeMeta, depth int) {
	if v.text[0] != '{' {
		r.problem(where, errors.New("decode object: it is no mapping"))
		return
	}
	var t typeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(v.text, &t); err != nil {
		r.problem(where, fmt.Errorf("decode object: %w", err))
		return
	}
	t.APIVersion, t.Kind = cmp.Or(t.APIVersion, inherit.APIVersion), cmp.Or(t.Kind, inherit.Kind)
	if t.APIVersion == "" || t.Kind == "" {
		r.problem(where, errors.New("decode object: no apiVersion or no kind"))
		return
	}
	if strings.HasSuffix(t.Kind, "List") && r.list(where, v, t, depth) {
		return
	}
	gv, err := schema.ParseGroupVersion(t.APIVersion)
	if err != nil {
		r.problem(where, fmt.Errorf("decode object: %w", err))
		return
	}
	entry, ok := r.entries[gv.WithKind(t.Kind)]
	if !ok || !r.wanted[entry.kind] {
		r.passed[audit.IgnoredKind{Group: gv.Group, Version: gv.Version, Kind: t.Kind}]++
		if !ok && ingest.UnsupportedPolicy(gv.Group, t.Kind) {
			r.unmodelled(gv.Group, t.Kind, v.text)
		}
		return
	}
	data := v.whole()
	name, err := entry.take(r, data)
	switch {
	case errors.Is(err, ingest.ErrOther):
		r.passed[audit.IgnoredKind{Group: gv.Group, Version: gv.Version, Kind: t.Kind}]++
	case err != nil:
		r.problem(where, fmt.Errorf("decode %s: %w", t.Kind, err))
	default:
		if !r.twice(where, identity{gv.WithKind(t.Kind), name}, data) {
			r.items[entry.kind]++
		}
	}
}

// unmodelled notes a policy that nothing here understands. Its kind is called by
// the name of its objects, since manifests do not tell the plural.
func (r *reader) unmodelled(group, kind string, data []byte) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	// One whose metadata cannot be read may be about any namespace.
	_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &o)
	r.facts.Unsupported = append(r.facts.Unsupported, snapshot.Unsupported{
		Kind: snapshot.KindOf(group, kind), Namespace: o.Metadata.Namespace,
	})
}

func (r *reader) passedList() []audit.IgnoredKind {
	var out []audit.IgnoredKind
	for p, n := range r.passed {
		p.Items = n
		out = append(out, p)
	}
	return out
}

// decode decodes an object as an API server does, and completes its metadata as
// kubectl does. It returns what the object is called then.
func decode(data []byte, o metav1.Object, namespaced bool) (types.NamespacedName, error) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, o); err != nil {
		return types.NamespacedName{}, err
	}
	name, err := completed(o.GetNamespace(), o.GetName(), namespaced)
	o.SetNamespace(name.Namespace)
	return name, err
}

// complete does for an object that stays JSON what decode does for a typed one.
func complete(data []byte, namespaced bool) ([]byte, types.NamespacedName, error) {
	var o struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
		return nil, types.NamespacedName{}, err
	}
	name, err := completed(o.Metadata.Namespace, o.Metadata.Name, namespaced)
	if err != nil || name.Namespace == o.Metadata.Namespace {
		return data, name, err
	}
	var whole map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &whole); err != nil {
		return nil, name, err
	}
	whole["metadata"].(map[string]any)["namespace"] = name.Namespace
	data, err = json.Marshal(whole)
	return data, name, err
}

// completed returns what an object is called, in the namespace that kubectl would
// take it to.
func completed(namespace, name string, namespaced bool) (types.NamespacedName, error) {
	switch {
	case name == "":
		return types.NamespacedName{}, errors.New("no metadata.name")
	case !namespaced:
		namespace = ""
	case namespace == "":
		namespace = metav1.NamespaceDefault
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

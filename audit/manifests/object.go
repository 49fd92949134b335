package manifests

import (
	"bytes"
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

// typeMeta is the type of an object. The items of a list may leave it to the list.
type typeMeta struct {
	APIVersion, Kind string
}

// fields are the top-level fields of an object, as parts of its text.
type fields map[string]part

// part is a value within a JSON text, and valid as long as that is.
type part []byte

func (p *part) UnmarshalJSON(text []byte) error {
	*p = text
	return nil
}

// fieldsOf returns the top-level fields of an object. A repeated field is an error, because
// only one of them would count.
func fieldsOf(text []byte) (fields, error) {
	if text[0] != '{' {
		return nil, errors.New("it is not a mapping")
	}
	var f fields
	repeated, err := kjson.UnmarshalStrict(text, &f, kjson.DisallowDuplicateFields)
	return f, errors.Join(append(repeated, err)...)
}

// typeMeta returns the type of the object. A missing field is taken from inherit.
func (f fields) typeMeta(inherit typeMeta) (typeMeta, error) {
	apiVersion, err := f.text("apiVersion")
	if err != nil {
		return typeMeta{}, err
	}
	kind, err := f.text("kind")
	if err != nil {
		return typeMeta{}, err
	}
	t := typeMeta{APIVersion: cmp.Or(apiVersion, inherit.APIVersion), Kind: cmp.Or(kind, inherit.Kind)}
	if t.APIVersion == "" || t.Kind == "" {
		return t, errors.New("apiVersion or kind is missing")
	}
	return t, nil
}

// text returns a field that is a string, empty if it is missing.
func (f fields) text(name string) (string, error) {
	text, ok := f[name]
	if !ok {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// object ingests an object, or each item of a list. Fields that are missing in its type
// are taken from inherit; depth is the number of lists that it is in.
func (r *reader) object(where string, text []byte, inherit typeMeta, depth int) {
	f, err := fieldsOf(text)
	if err != nil {
		r.problem(where, fmt.Errorf("decode object: %w", err))
		return
	}
	t, err := f.typeMeta(inherit)
	if err != nil {
		r.problem(where, fmt.Errorf("decode object: %w", err))
		return
	}
	if strings.HasSuffix(t.Kind, "List") && r.list(where, f["items"], t, depth) {
		return
	}
	gv, err := schema.ParseGroupVersion(t.APIVersion)
	if err != nil {
		r.problem(where, fmt.Errorf("decode object: %w", err))
		return
	}
	entry, ok := r.entries[gv.WithKind(t.Kind)]
	if !ok || !r.wanted[entry.kind] {
		r.ignored[audit.IgnoredKind{Group: gv.Group, Version: gv.Version, Kind: t.Kind}]++
		if !ok && ingest.UnsupportedPolicy(gv.Group, t.Kind) {
			r.unsupported(gv.Group, t.Kind, text)
		}
		return
	}
	name, err := entry.take(r, text)
	switch {
	case errors.Is(err, ingest.ErrOther):
		r.ignored[audit.IgnoredKind{Group: gv.Group, Version: gv.Version, Kind: t.Kind}]++
	case err != nil:
		r.problem(where, fmt.Errorf("decode %s: %w", t.Kind, err))
	default:
		if !r.twice(where, identity{gv.WithKind(t.Kind), name}, text) {
			r.items[entry.kind]++
		}
	}
}

// maxNesting bounds the depth of lists in lists: each is parsed anew.
const maxNesting = 8

// list ingests the items of a list, and reports whether the object is one: a kind may
// be called a list and be an object like others.
func (r *reader) list(where string, items part, t typeMeta, depth int) bool {
	bad := func(reason string) bool {
		r.problem(where, fmt.Errorf("decode %s: %s", t.Kind, reason))
		return true
	}
	switch {
	case items == nil && t == typeMeta{APIVersion: "v1", Kind: "List"}:
		return bad("it has no items")
	case items == nil:
		return false
	case depth == maxNesting:
		return bad(fmt.Sprintf("lists are nested more than %d deep", maxNesting))
	case items[0] == 'n': // null
		return true
	}
	values := json.NewDecoder(bytes.NewReader(items))
	if first, err := values.Token(); err != nil || first != json.Delim('[') {
		return bad("items is not a list")
	}
	of := typeMeta{APIVersion: t.APIVersion, Kind: strings.TrimSuffix(t.Kind, "List")}
	if of.Kind == "" {
		of = typeMeta{}
	}
	for n := 1; values.More(); n++ {
		read := eachValue(func(text []byte) {
			r.object(fmt.Sprintf("%s item %d", where, n), text, of, depth+1)
		})
		if err := values.Decode(&read); err != nil {
			return bad(err.Error())
		}
	}
	return true
}

// unsupported records a policy that cannot be evaluated. Its kind has the name of its
// objects, because manifests do not contain the plural.
func (r *reader) unsupported(group, kind string, data []byte) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	// One whose metadata cannot be read may apply to any namespace.
	_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &o)
	u := ingest.Unsupported(snapshot.KindOf(group, kind), kind, o.Metadata.Namespace)
	r.facts.Unsupported = append(r.facts.Unsupported, u)
}

func (r *reader) ignoredKinds() []audit.IgnoredKind {
	var out []audit.IgnoredKind
	for p, n := range r.ignored {
		p.Items = n
		out = append(out, p)
	}
	return out
}

// decode decodes an object as an API server does, completes its namespace as kubectl does,
// and returns its name.
func decode(data []byte, o metav1.Object, namespaced bool) (types.NamespacedName, error) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, o); err != nil {
		return types.NamespacedName{}, err
	}
	name, err := completed(o.GetNamespace(), o.GetName(), namespaced)
	o.SetNamespace(name.Namespace)
	return name, err
}

// complete does for an object that remains JSON what decode does for a typed one.
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

// completed returns the name of an object in the namespace that kubectl would create it in.
func completed(namespace, name string, namespaced bool) (types.NamespacedName, error) {
	switch {
	case name == "":
		return types.NamespacedName{}, errors.New("metadata.name is missing")
	case !namespaced:
		namespace = ""
	case namespace == "":
		namespace = metav1.NamespaceDefault
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// eachValue is called with the text of a value, which is valid until it returns.
type eachValue func(text []byte)

func (f eachValue) UnmarshalJSON(text []byte) error {
	f(text)
	return nil
}

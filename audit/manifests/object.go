package manifests

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
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
		return nil, errNoMapping
	}
	var f fields
	repeated, err := kjson.UnmarshalStrict(text, &f, kjson.DisallowDuplicateFields)
	return f, errors.Join(append(repeated, err)...)
}

var errNoMapping = errors.New("it is not a mapping")

// hasTypedItem reports whether a text is a list of which an item looks like an object.
func hasTypedItem(text []byte) bool {
	var items []fields
	if json.Unmarshal(text, &items) != nil {
		return false
	}
	return slices.ContainsFunc(items, func(f fields) bool { return len(f["apiVersion"]) > 0 && len(f["kind"]) > 0 })
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
		return t, errNoType
	}
	return t, nil
}

var errNoType = errors.New("apiVersion or kind is missing")

// untyped reports whether fields without a type are not those of an object that lost it,
// as in the values or the Chart.yaml of a chart.
func (f fields) untyped() bool {
	typed := len(f["apiVersion"]) > 0 || len(f["kind"]) > 0
	return !typed || len(f["metadata"]) == 0
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
	switch {
	case errors.Is(err, errNoMapping) && !hasTypedItem(text):
		r.problems.untyped(where, fmt.Errorf("decode object: %w", err))
		return
	case err != nil:
		r.problems.add(where, fmt.Errorf("decode object: %w", err))
		return
	}
	t, err := f.typeMeta(inherit)
	switch {
	case errors.Is(err, errNoType) && f.untyped():
		r.problems.untyped(where, fmt.Errorf("decode object: %w", err))
		return
	case err == nil && placeholder(t.APIVersion+t.Kind):
		r.unparsed(where, text, errTemplate)
		return
	case err != nil:
		r.problems.add(where, fmt.Errorf("decode object: %w", err))
		return
	}
	r.objects++
	r.problems.objects = true
	if strings.HasSuffix(t.Kind, "List") && r.list(where, f["items"], t, depth) {
		return
	}
	gv, err := schema.ParseGroupVersion(t.APIVersion)
	if err != nil {
		r.problems.add(where, fmt.Errorf("decode object: %w", err))
		return
	}
	entry, ok := r.entries[gv.WithKind(t.Kind)]
	if ok && r.wanted[entry.kind] {
		r.take(where, gv, entry, text)
		return
	}
	if other, known := r.known[gv.WithKind(t.Kind).GroupKind()]; !ok && known && r.wanted[other.kind] {
		r.problems.lose(where, t.Kind, fmt.Errorf("%s of %s is not supported: what this version means is unknown", t.Kind, t.APIVersion))
		return
	}
	ignored := audit.IgnoredKind{Group: gv.Group, Version: gv.Version, Kind: t.Kind}
	if !ok {
		ignored.RunsPods = runsPods(gv.Group, t.Kind, text)
	}
	r.ignored[ignored]++
	if !ok && ingest.UnsupportedPolicy(gv.Group, t.Kind) {
		r.unsupported(gv.Group, t.Kind, text)
	}
	if _, known := r.known[gv.WithKind(t.Kind).GroupKind()]; !ok && !known {
		r.unreadHosts(gv, t.Kind, text)
	}
}

// unreadHosts counts an object of a kind that is not known and probably carries hosts. The
// plural of the kind is a guess, because manifests do not contain it.
func (r *reader) unreadHosts(gv schema.GroupVersion, kind string, data []byte) {
	plural := snapshot.KindOf(gv.Group, strings.ToLower(kind)+"s")
	if s, ok := hostsource.Likely(plural, kind, gv.Version); ok {
		unread := ingest.HostKind(context.Background(), &s)
		// One whose metadata cannot be read claims nothing that could be compared.
		_ = unread.Take(r.ingester, data, &r.facts)
	}
}

// take ingests an object of a kind that rules need.
func (r *reader) take(where string, gv schema.GroupVersion, e entry, text []byte) {
	all := r.facts
	r.facts, r.current = snapshot.Facts{}, current{where: where}
	var name types.NamespacedName
	err := ingest.Safely(func() (err error) {
		name, err = e.take(r, text)
		return err
	})
	one := r.facts
	r.facts = all
	switch {
	case errors.Is(err, ingest.ErrOther):
		r.ignored[audit.IgnoredKind{Group: gv.Group, Version: gv.Version, Kind: e.name}]++
		return
	case errors.Is(err, errTemplate), (err != nil || len(one.Faults) > 0) && template(text):
		r.problems.lose(where, e.name, errTemplate)
		return
	case err != nil:
		err = fmt.Errorf("decode %s: %w", e.name, err)
		var named bool
		if name, named = r.nameOf(e, text); !named {
			r.problems.lose(where, e.name, err)
			return
		}
		one = r.ingester.Unreadable(e.kind, e.name, text, err)
		one.Faults[0].Namespace, one.Faults[0].Name = name.Namespace, name.Name
	}
	before, differs := r.seen.add(where, e.name, gv.String(), identity{e.kind, name}, &one)
	if differs != "" {
		r.problems.differs(where, e.name, differs)
	}
	if !before {
		r.items[e.kind]++
		if r.current.unnamed {
			r.notes.unnamed++
		}
	}
	if !before || differs != "" {
		r.facts.Append(one)
	}
}

// maxNesting bounds the depth of lists in lists: each is parsed anew.
const maxNesting = 8

// list ingests the items of a list, and reports whether the object is one: a kind may
// be called a list and be an object like others.
func (r *reader) list(where string, items part, t typeMeta, depth int) bool {
	bad := func(reason string) bool {
		r.problems.add(where, fmt.Errorf("decode %s: %s", t.Kind, reason))
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
	r.facts.Unsupported = append(r.facts.Unsupported, ingest.UnsupportedObject(snapshot.KindOf(group, kind), kind, data))
}

func (r *reader) ignoredKinds() []audit.IgnoredKind {
	var out []audit.IgnoredKind
	for p, n := range r.ignored {
		p.Items = n
		out = append(out, p)
	}
	return out
}

// decode decodes an object as an API server does, completes its name and its namespace as
// kubectl and the API server do, and returns them.
func (r *reader) decode(kind snapshot.Kind, data []byte, o metav1.Object, namespaced bool) (types.NamespacedName, error) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, o); err != nil {
		return types.NamespacedName{}, err
	}
	name, err := r.completed(kind, metadata{o.GetName(), o.GetGenerateName(), o.GetNamespace()}, namespaced)
	o.SetName(name.Name)
	o.SetNamespace(name.Namespace)
	return name, err
}

// metadata is what identifies an object.
type metadata struct {
	Name         string `json:"name"`
	GenerateName string `json:"generateName"`
	Namespace    string `json:"namespace"`
}

// complete does for an object that remains JSON what decode does for a typed one.
func (r *reader) complete(kind snapshot.Kind, data []byte, namespaced bool) ([]byte, types.NamespacedName, error) {
	var o struct {
		Metadata metadata `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
		return nil, types.NamespacedName{}, err
	}
	name, err := r.completed(kind, o.Metadata, namespaced)
	if err != nil || name.Namespace == o.Metadata.Namespace && name.Name == o.Metadata.Name {
		return data, name, err
	}
	var whole map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &whole); err != nil {
		return nil, name, err
	}
	meta := whole["metadata"].(map[string]any)
	meta["name"], meta["namespace"] = name.Name, name.Namespace
	data, err = json.Marshal(whole)
	return data, name, err
}

// nameOf returns the name of an object that can't be decoded, and whether even that can be
// read.
func (r *reader) nameOf(e entry, data []byte) (types.NamespacedName, bool) {
	var o struct {
		Metadata metadata `json:"metadata"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &o) != nil {
		return types.NamespacedName{}, false
	}
	name, err := r.completed(e.kind, o.Metadata, !snapshot.ClusterWide(e.kind))
	return name, err == nil
}

// completed returns the name of an object in the namespace that kubectl would create it in.
func (r *reader) completed(kind snapshot.Kind, m metadata, namespaced bool) (types.NamespacedName, error) {
	switch {
	case m.Name == "" && m.GenerateName == "":
		return types.NamespacedName{}, errors.New("metadata.name is missing")
	case placeholder(m.Name + m.GenerateName + m.Namespace):
		return types.NamespacedName{}, errTemplate
	case !namespaced:
		m.Namespace = ""
	case m.Namespace == "":
		m.Namespace, r.current.unnamed = r.namespace, true
	}
	if m.Name == "" {
		where := r.current.where
		if r.path != "" {
			where = r.path + strings.TrimPrefix(where, r.name)
		}
		m.Name = r.generated.name(identity{kind, types.NamespacedName{Namespace: m.Namespace, Name: m.GenerateName}}, where)
	}
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, nil
}

// eachValue is called with the text of a value, which is valid until it returns.
type eachValue func(text []byte)

func (f eachValue) UnmarshalJSON(text []byte) error {
	f(text)
	return nil
}

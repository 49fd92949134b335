package redteam

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// object is an object as it is stored.
type object map[string]any

// object returns the object that a YAML text describes. It panics if it is not one: the
// texts are part of the tests.
func parse(format string, args ...any) object {
	var o object
	text := fmt.Sprintf(format, args...)
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		panic(fmt.Sprintf("%v in %s", err, text))
	}
	return o
}

// field returns the mapping below some keys, and makes it if it is not there.
func (o object) field(keys ...string) map[string]any {
	m := map[string]any(o)
	for _, key := range keys {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	return m
}

func (o object) meta() map[string]any { return o.field("metadata") }

func (o object) spec() map[string]any { return o.field("spec") }

func (o object) annotate(key, value string) { o.field("metadata", "annotations")[key] = value }

func (o object) label(key, value string) { o.field("metadata", "labels")[key] = value }

func (o object) kind() string      { return text(o, "kind") }
func (o object) name() string      { return text(o.meta(), "name") }
func (o object) namespace() string { return text(o.meta(), "namespace") }

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// id identifies the object.
func (o object) id() string {
	return strings.Join([]string{text(o, "apiVersion"), o.kind(), o.namespace(), o.name()}, " ")
}

// clone returns a deep copy.
func (o object) clone() object { return copied(map[string]any(o)).(map[string]any) }

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		for key, value := range m {
			m[key] = copied(value)
		}
		return m
	case object:
		return copied(map[string]any(v))
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = copied(list[i])
		}
		return list
	}
	return v
}

// created sets what an API server sets when it creates an object.
func (o object) created(at time.Time) {
	m := o.meta()
	m["creationTimestamp"] = at.UTC().Format(time.RFC3339)
	h := fnv.New64a()
	fmt.Fprint(h, o.id(), at.Unix())
	m["uid"] = fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(h.Sum64()), h.Sum64()>>16)
}

// deleted marks the object as deleted while a finalizer holds it.
func (o object) deleted(at time.Time, finalizer string) {
	m := o.meta()
	m["deletionTimestamp"] = at.UTC().Format(time.RFC3339)
	m["deletionGracePeriodSeconds"] = 0
	m["finalizers"] = []any{finalizer}
}

// list returns the objects as a list that kubectl would print.
func list(objects []object) []byte {
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		panic(err)
	}
	return data
}

// documents returns the objects as YAML documents, for people.
func documents(objects []object) string {
	var b strings.Builder
	for i, o := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		data, err := yaml.Marshal(o)
		if err != nil {
			panic(err)
		}
		b.Write(data)
	}
	return b.String()
}

package ingest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// hostsMeta is meta for an object whose hosts are in a field of its spec.
func (in *Ingester) hostsMeta(group, kind string, o *metav1.ObjectMeta, field string) snapshot.Meta {
	m := in.meta(group, kind, o)
	m.HostsSet, m.Creator = specSet(o, field), in.creator(o)
	return m
}

// longestManager is how many bytes the API server allows for the name of a manager.
const longestManager = 128

// creator returns the only manager that wrote an object, leaving out subresources. It is
// empty if there are several, and if an entry is older than the object: then the entries
// were restored with it, and say nothing about who created it.
func (in *Ingester) creator(o *metav1.ObjectMeta) string {
	name := ""
	for i := range o.ManagedFields {
		e := &o.ManagedFields[i]
		switch {
		case e.Subresource != "":
		case len(e.Manager) > longestManager, name != "" && e.Manager != name,
			e.Time == nil, e.Time.Time.Before(o.CreationTimestamp.Time):
			return ""
		default:
			name = e.Manager
		}
	}
	return in.intern(name)
}

// specSet returns the latest time at which a field of the spec can have been set to its
// present value, according to the metadata: the creation if the spec never changed since,
// or else the last write of a manager of the field. It is zero if that is unknown.
//
// The API server raises the generation with each change of the spec. The time of an
// entry of managedFields moves with each change of any field that its manager owns, so
// it is an upper bound.
func specSet(o *metav1.ObjectMeta, field string) time.Time {
	if o.Generation <= 1 {
		return o.CreationTimestamp.UTC()
	}
	return lastWrite(o, "f:spec", "f:"+field)
}

// annotationSet does for an annotation what specSet does for a field. The generation
// does not change with annotations.
func annotationSet(o *metav1.ObjectMeta, key string) time.Time {
	if len(o.ManagedFields) == 0 {
		if o.Generation <= 1 {
			return o.CreationTimestamp.UTC()
		}
		return time.Time{}
	}
	return lastWrite(o, "f:metadata", "f:annotations", "f:"+key)
}

// hostsSet returns the latest time at which an object can have got the hosts that it
// claims, or zero if that is unknown. If the hosts are read from known fields of the
// spec, the generation and the managers of those fields decide. Otherwise any write may
// have set them, and writes to the metadata do not raise the generation.
func hostsSet(o *metav1.ObjectMeta, fields []string) time.Time {
	counted := len(fields) > 0 && o.Generation == 1
	untouched := len(o.ManagedFields) == 0 && o.Generation <= 1
	if counted || untouched || slices.Equal(fields, []string{"metadata.name"}) {
		return o.CreationTimestamp.UTC()
	}
	if len(fields) == 0 {
		return lastWriteOf(o, func(*metav1.FieldsV1) bool { return true })
	}
	var last time.Time
	for _, field := range fields {
		if set := lastWrite(o, "f:spec", "f:"+strings.TrimPrefix(field, "spec.")); set.After(last) {
			last = set
		}
	}
	return last
}

// lastWrite returns the latest time of the managers that own a field. It is zero if the
// field has no owner, or if the entry of an owner has no time.
func lastWrite(o *metav1.ObjectMeta, path ...string) time.Time {
	return lastWriteOf(o, func(fields *metav1.FieldsV1) bool { return fields != nil && owns(fields.GetRawBytes(), path) })
}

// lastWriteOf returns the latest time of the managers whose fields match, leaving out
// those of the status and other subresources. It is zero if there is none, or if an entry
// has no time.
func lastWriteOf(o *metav1.ObjectMeta, match func(*metav1.FieldsV1) bool) time.Time {
	var last time.Time
	for i := range o.ManagedFields {
		e := &o.ManagedFields[i]
		if e.Subresource != "" || !match(e.FieldsV1) {
			continue
		}
		if e.Time == nil {
			return time.Time{}
		}
		if e.Time.After(last) {
			last = e.Time.UTC()
		}
	}
	return last
}

// owns reports whether a field set of managedFields has the path.
func owns(raw []byte, path []string) bool {
	// Most entries lack the last step, and searching for it is cheaper than decoding.
	if !bytes.Contains(raw, []byte(path[len(path)-1])) {
		return false
	}
	for _, step := range path {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return false
		}
		next, ok := fields[step]
		if !ok {
			return false
		}
		raw = next
	}
	return true
}

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

// hostsMeta is meta for an object whose hosts stand in a field of its spec.
func (in *Ingester) hostsMeta(group, kind string, o *metav1.ObjectMeta, field string) snapshot.Meta {
	m := in.meta(group, kind, o)
	m.HostsSet = specSet(o, field)
	return m
}

// unknownMoment stands for a moment of which nothing is known.
func unknownMoment() time.Time { return time.Time{} }

// specSet returns the latest moment at which a field of the spec can have got
// its present value, as far as the metadata tells: the creation, where the spec
// was never changed since, or else the last write of whoever manages the field.
// It is zero where nothing is known.
//
// The API server raises the generation with each change of the spec. The time of
// an entry of managedFields moves with each change of any field that its
// manager owns, so it bounds the moment from above and is not the moment itself.
func specSet(o *metav1.ObjectMeta, field string) time.Time {
	if o.Generation <= 1 {
		return o.CreationTimestamp.UTC()
	}
	return lastWrite(o, "f:spec", "f:"+field)
}

// annotationSet does for an annotation what specSet does for a field. No
// generation tells of it.
func annotationSet(o *metav1.ObjectMeta, key string) time.Time {
	if len(o.ManagedFields) == 0 {
		if o.Generation <= 1 {
			return o.CreationTimestamp.UTC()
		}
		return unknownMoment()
	}
	return lastWrite(o, "f:metadata", "f:annotations", "f:"+key)
}

// hostsSet returns the latest moment at which an object can have got the hosts
// that it claims, zero where nothing is known. Where fields of the spec say what
// they are, the object's generation and the managers of those fields tell. Else
// it may be anything that was written, and what is written to the metadata raises
// no generation.
func hostsSet(o *metav1.ObjectMeta, fields []string) time.Time {
	counted := len(fields) > 0 && o.Generation == 1
	untouched := len(o.ManagedFields) == 0 && o.Generation <= 1
	if counted || untouched || slices.Equal(fields, []string{"metadata.name"}) {
		return o.CreationTimestamp.UTC()
	}
	if len(fields) == 0 {
		return lastWriteOf(o, func(*metav1.FieldsV1) bool { return true })
	}
	last := unknownMoment()
	for _, field := range fields {
		if set := lastWrite(o, "f:spec", "f:"+strings.TrimPrefix(field, "spec.")); set.After(last) {
			last = set
		}
	}
	return last
}

// lastWrite returns the latest time of the managers that own a field, zero if
// nobody owns it or somebody's entry does not tell.
func lastWrite(o *metav1.ObjectMeta, path ...string) time.Time {
	return lastWriteOf(o, func(fields *metav1.FieldsV1) bool { return fields != nil && owns(fields.GetRawBytes(), path) })
}

// lastWriteOf returns the latest time of the managers whose fields are asked for,
// but for those of the status and other subresources; zero if there is none or
// somebody's entry does not tell.
func lastWriteOf(o *metav1.ObjectMeta, asked func(*metav1.FieldsV1) bool) time.Time {
	var last time.Time
	for i := range o.ManagedFields {
		e := &o.ManagedFields[i]
		if e.Subresource != "" || !asked(e.FieldsV1) {
			continue
		}
		if e.Time == nil {
			return unknownMoment()
		}
		if e.Time.After(last) {
			last = e.Time.UTC()
		}
	}
	return last
}

// owns reports whether a field set of managedFields has the path.
func owns(raw []byte, path []string) bool {
	// Most entries do not have the last step, and looking for it is cheaper
	// than decoding them.
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

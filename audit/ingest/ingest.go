// Package ingest turns API objects into facts. Every source uses it, so that a
// manifest and a live object are judged alike; there is a file per API group.
//
// A fact holds no pointer into the object it was made from: the page that the
// object came in can be dropped.
package ingest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Ingester makes facts. It is for one goroutine, since it remembers strings and
// label sets that come again and again in order to keep them once.
type Ingester struct {
	ownerKeys []string
	channel   string
	strings   map[string]string
	labels    map[string]snapshot.Labels
	key       []byte // of labels that are looked for
}

// New returns an Ingester. Of an object's labels and annotations the first one
// whose key is among ownerKeys, in their order, a label before an annotation of
// the same key, is taken for the owner that the object names.
func New(ownerKeys []string) *Ingester {
	return &Ingester{
		ownerKeys: slices.Clone(ownerKeys),
		strings:   map[string]string{},
		labels:    map[string]snapshot.Labels{},
	}
}

// KeepChannel lets the Ingester keep the annotation of Namespaces that has a key,
// as their Channel, and returns it. An empty key keeps none.
func (in *Ingester) KeepChannel(key string) *Ingester {
	in.channel = key
	return in
}

// meta returns what is known of every object. The kind is given, since the
// objects of a typed list do not carry theirs.
func (in *Ingester) meta(group, kind string, o *metav1.ObjectMeta) snapshot.Meta {
	return snapshot.Meta{
		Group:     group,
		Kind:      kind,
		Namespace: in.intern(o.Namespace),
		Name:      o.Name,
		Created:   o.CreationTimestamp.UTC(),
		Deleting:  o.DeletionTimestamp != nil,
		Owner:     in.ownerKey(o),
	}
}

func (in *Ingester) ownerKey(o *metav1.ObjectMeta) snapshot.OwnerKey {
	for _, key := range in.ownerKeys {
		if v := strings.TrimSpace(o.Labels[key]); v != "" {
			return snapshot.OwnerKey{Value: in.intern(v), Key: key}
		}
		if v := strings.TrimSpace(o.Annotations[key]); v != "" {
			return snapshot.OwnerKey{Value: in.intern(v), Key: key, Annotation: true}
		}
	}
	return snapshot.OwnerKey{}
}

// controller returns the owner reference that controls the object.
func (in *Ingester) controller(o *metav1.ObjectMeta) snapshot.Controller {
	for _, r := range o.OwnerReferences {
		if r.Controller != nil && *r.Controller {
			return snapshot.Controller{
				Group: in.intern(groupOf(r.APIVersion)), Kind: in.intern(r.Kind), Name: in.intern(r.Name),
			}
		}
	}
	return snapshot.Controller{}
}

// intern returns the string, kept once. Only strings that many objects share
// are worth it.
func (in *Ingester) intern(s string) string {
	if s == "" {
		return ""
	}
	if kept, ok := in.strings[s]; ok {
		return kept
	}
	in.strings[s] = s
	return s
}

// groupOf returns the API group of an apiVersion.
func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

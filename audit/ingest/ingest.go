// Package ingest turns API objects into facts. Every source uses it, so that manifests
// and live objects are evaluated alike.
//
// A fact holds no pointer into the object that it was made from, so the page that the
// object came in can be dropped.
package ingest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest/budget"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Ingester makes facts. It is not safe for concurrent use: it remembers strings and label
// sets that recur, in order to keep each of them once.
type Ingester struct {
	ownerKeys []string
	channel   string
	aliases   []snapshot.Alias
	dns       []dnsAnnotations
	strings   map[string]string
	labels    map[string]snapshot.Labels
	key       []byte // of labels that are looked for
	bytes     int    // of the remembered strings and labels

	budget *budget.Budget
	fresh  int // labels of the present object that were not remembered
	ports  map[string][]snapshot.PortRange
	naming map[string]bool // keys of annotations, and whether they name owners or channels
}

// New returns an Ingester. The owner that an object names is the value of the first of
// ownerKeys that it has, as a label or else as an annotation.
func New(ownerKeys []string) *Ingester {
	return &Ingester{
		ownerKeys: slices.Clone(ownerKeys),
		strings:   map[string]string{},
		labels:    map[string]snapshot.Labels{},
		ports:     map[string][]snapshot.PortRange{},
		naming:    map[string]bool{},
		aliases:   snapshot.Aliases(),
		dns:       dnsBelow(hostsource.ExternalDNSPrefixes()),
		budget:    budget.New(budget.Limits{}),
	}
}

// KeepChannel makes the Ingester keep the annotation with this key as the Channel of a
// Namespace, and returns the Ingester. With an empty key it keeps none.
func (in *Ingester) KeepChannel(key string) *Ingester {
	in.channel = key
	return in
}

// meta returns the fact of an object's metadata. The kind is a parameter because the
// objects of a typed list do not carry theirs.
func (in *Ingester) meta(group, kind string, o *metav1.ObjectMeta) snapshot.Meta {
	return snapshot.Meta{
		Group:     group,
		Kind:      kind,
		Namespace: in.intern(o.Namespace),
		Name:      o.Name,
		Created:   o.CreationTimestamp.UTC(),
		Deletion:  deletion(o),
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
				UID: snapshot.UIDOf(string(r.UID)),
			}
		}
	}
	return snapshot.Controller{}
}

// What is remembered, of one string and of all of them, in bytes. An annotation can have
// a quarter of a MiB, where a name has a hundred bytes.
const (
	longestText    = 1 << 10
	mostRemembered = 16 << 20
)

// intern returns the string, kept once. It pays for strings that many objects share. One
// that is too long for the name of anything is cut.
func (in *Ingester) intern(s string) string {
	if s == "" {
		return ""
	}
	if kept, ok := in.strings[s]; ok {
		return kept
	}
	if len(s) > longestText {
		return strings.ToValidUTF8(s[:longestText], "") + "…"
	}
	in.remember(len(s))
	in.strings[s] = s
	return s
}

// remember makes room for some bytes. Once there are too many, everything is forgotten:
// strings that are kept only for being remembered must not take up the memory.
func (in *Ingester) remember(bytes int) {
	if in.bytes += bytes; in.bytes > mostRemembered {
		in.bytes = bytes
		clear(in.strings)
		clear(in.labels)
	}
}

// groupOf returns the API group of an apiVersion.
func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

package manifests

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// identity identifies an object. Versions are views of one stored object, and so are the
// groups that Kubernetes serves a kind in: the kind has no version, and one group
// (kubernetes.io/docs/reference/using-api/api-concepts).
type identity struct {
	kind snapshot.Kind
	types.NamespacedName
}

// digest is a hash of an identity or of facts. Two of them are kept for every object that
// is read, so they are small; collisions of 128 bits are infeasible.
type digest [16]byte

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:])
}

// digest returns the hash of the quoted parts, so that no two identities share it.
func (o identity) digest() digest {
	return digestOf(fmt.Appendf(nil, "%q %q %q", o.kind, o.Namespace, o.Name))
}

// reading is where an object was read, in which API version, and the hash of its facts.
type reading struct {
	where, apiVersion string
	sum               digest
}

// readings are those of every object that was ingested.
type readings struct {
	by       map[digest]reading
	versions map[string]string // the same text once
	buffer   []byte            // for one object at a time
}

// add records an object, and reports whether it was read before. If it was, with other
// facts, the reason says so: it is unknown which of the two is in force, and the last one
// counts. The same facts, as in two exports, are no reason.
func (r *readings) add(where, kind, apiVersion string, o identity, facts *snapshot.Facts) (before bool, reason string) {
	if v, ok := r.versions[apiVersion]; ok {
		apiVersion = v
	} else {
		r.versions[apiVersion] = apiVersion
	}
	r.buffer = appendFacts(r.buffer[:0], facts)
	key, now := o.digest(), reading{where, apiVersion, digestOf(r.buffer)}
	last, before := r.by[key]
	if before && last.sum == now.sum {
		return true, ""
	}
	r.by[key] = now
	switch {
	case !before:
		return false, ""
	case last.apiVersion != apiVersion:
		return true, fmt.Sprintf("%s %s of %s differs from the one of %s in %s: both are the same object, so keep one",
			kind, o.called(), apiVersion, last.apiVersion, last.where)
	}
	return true, fmt.Sprintf("%s %s differs from the one in %s", kind, o.called(), last.where)
}

// called returns the name of an object, with its namespace if it has one.
func (o identity) called() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// generatedNames are names for objects that leave them to the API server, by their kind,
// namespace and metadata.generateName.
type generatedNames map[digest]map[string]string // by where

// name returns a name for an object that is read at the given place. Each such object is an
// object of its own, unless its file is read twice. The asterisk is in no real name.
func (g generatedNames) name(o identity, where string) string {
	key := o.digest()
	if name, ok := g[key][where]; ok {
		return name
	}
	if g[key] == nil {
		g[key] = map[string]string{}
	}
	name := o.Name + "*"
	if n := len(g[key]); n > 0 {
		name += fmt.Sprintf("(%d)", n+1)
	}
	g[key][where] = name
	return name
}

package ingest

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// HostKind returns the kind of a host source for one reading, which ends with
// the context: then objects cannot be taken in any more. An object whose hosts
// cannot be read is taken in all the same, and says so itself.
func HostKind(ctx context.Context, s *hostsource.Source) Custom {
	return Custom{
		Kind: s.Kind, Object: s.Object, Versions: s.Versions, Namespaced: true,
		take: func(in *Ingester, data []byte, f *snapshot.Facts) error {
			o, err := in.hostObject(ctx, s, data)
			if err != nil {
				return err
			}
			f.HostObjects = append(f.HostObjects, o)
			return nil
		},
	}
}

// ExpandHostSources puts the kinds of host sources in the place of the one kind
// that stands for them, if that is among the kinds asked for.
func ExpandHostSources(kinds, sources []snapshot.Kind, b *snapshot.Builder) []snapshot.Kind {
	i := slices.Index(kinds, snapshot.HostSources)
	if i < 0 {
		return kinds
	}
	b.Expand(snapshot.HostSources)
	return append(slices.Delete(slices.Clone(kinds), i, i+1), sources...)
}

// maxHostObject is the number of bytes of an object whose hosts are read. An API
// server stores no larger one.
const maxHostObject = 3 << 20

func (in *Ingester) hostObject(ctx context.Context, s *hostsource.Source, data []byte) (snapshot.HostObject, error) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
		return snapshot.HostObject{}, err
	}
	f := snapshot.HostObject{Meta: in.meta(s.Kind.Group(), s.Object, &o.Metadata)}
	f.HostsSet = hostsSet(&o.Metadata, s.Fields)
	switch {
	case f.Deleting:
		return f, nil // it claims nothing any more
	case len(data) > maxHostObject:
		f.Err = fmt.Sprintf("it is larger than %d MiB", maxHostObject>>20)
		return f, nil
	}
	var whole map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &whole); err != nil {
		return snapshot.HostObject{}, err
	}
	claims, err := s.Read(ctx, withoutNulls(whole))
	switch {
	case ctx.Err() != nil:
		return snapshot.HostObject{}, context.Cause(ctx)
	case err != nil:
		f.Err = err.Error()
	}
	f.Hosts, f.Odd = claims.Hosts, claims.Invalid
	return f, nil
}

// withoutNulls takes the fields that are null from an object, in place: to the
// API server they are not there.
func withoutNulls(object map[string]any) map[string]any {
	for key, value := range object {
		switch v := value.(type) {
		case nil:
			delete(object, key)
		default:
			eachObject(v)
		}
	}
	return object
}

// eachObject takes the null fields from the objects in a value.
func eachObject(value any) {
	switch v := value.(type) {
	case map[string]any:
		withoutNulls(v)
	case []any:
		for _, item := range v {
			eachObject(item)
		}
	}
}

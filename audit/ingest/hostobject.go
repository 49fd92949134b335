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

// HostKind returns the kind of a host source for one reading: objects can be ingested
// until the context ends. An object whose hosts cannot be read becomes a fact that
// carries the error.
func HostKind(ctx context.Context, s *hostsource.Source) Custom {
	if s.Unread {
		return unreadKind(s)
	}
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

// unreadKind returns the kind of a host source that is off: its objects are counted.
func unreadKind(s *hostsource.Source) Custom {
	return Custom{
		Kind: s.Kind, Object: s.Object, Versions: s.Versions, Namespaced: true,
		take: func(_ *Ingester, data []byte, f *snapshot.Facts) error {
			var o metav1.PartialObjectMetadata
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
				return err
			}
			// Lists are sorted by namespace, so this keeps one fact for each.
			if last := len(f.UnreadHosts) - 1; last >= 0 && f.UnreadHosts[last].Kind == s.Kind && f.UnreadHosts[last].Namespace == o.Namespace {
				f.UnreadHosts[last].Count++
				return nil
			}
			f.UnreadHosts = append(f.UnreadHosts, snapshot.UnreadHosts{
				Kind: s.Kind, Object: s.Object, Namespace: o.Namespace, Count: 1, Setting: s.Setting(),
			})
			return nil
		},
	}
}

// UnknownHosts returns the fact that it is not known whether there are objects of the kind
// of a host source that is off.
func UnknownHosts(s *hostsource.Source, why string) snapshot.UnreadHosts {
	return snapshot.UnreadHosts{Kind: s.Kind, Object: s.Object, Setting: s.Setting(), Unknown: why}
}

// WithHosts returns a kind of routes whose objects also claim what a host source reads
// from them.
func (c Custom) WithHosts(ctx context.Context, s *hostsource.Source) Custom {
	route := c.take
	c.take = func(in *Ingester, data []byte, f *snapshot.Facts) error {
		before := len(f.Routes)
		if err := route(in, data, f); err != nil {
			return err
		}
		o, err := in.hostObject(ctx, s, data)
		if err != nil {
			return err
		}
		for i := range f.Routes[before:] {
			f.Routes[before+i].Published = &o
		}
		return nil
	}
	return c
}

// ExpandHostSources replaces snapshot.HostSources, if it is among the kinds, by the kinds
// of the host sources. A source for one of the kinds is read together with it.
func ExpandHostSources(kinds, sources []snapshot.Kind, b *snapshot.Builder) []snapshot.Kind {
	i := slices.Index(kinds, snapshot.HostSources)
	if i < 0 {
		return kinds
	}
	b.Expand(snapshot.HostSources)
	kinds = slices.Delete(slices.Clone(kinds), i, i+1)
	for _, s := range sources {
		if !slices.Contains(kinds, s) {
			kinds = append(kinds, s)
		}
	}
	return kinds
}

// maxHostObject bounds the bytes of an object whose hosts are read. API servers do not
// store larger objects.
const maxHostObject = 3 << 20

func (in *Ingester) hostObject(ctx context.Context, s *hostsource.Source, data []byte) (snapshot.HostObject, error) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
		return snapshot.HostObject{}, err
	}
	f := snapshot.HostObject{Meta: in.meta(s.Kind.Group(), s.Object, &o.Metadata)}
	f.HostsSet, f.Creator = hostsSet(&o.Metadata, s.Fields), in.creator(&o.Metadata)
	if len(data) > maxHostObject {
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
		return snapshot.HostObject{}, fmt.Errorf("%w: %w", errEnded, context.Cause(ctx))
	case err != nil:
		f.Err = err.Error()
	}
	f.Hosts, f.Expressions, f.Bindings = claims.Hosts, claims.Expressions, claims.Bindings
	f.Invalid, f.Unread = claims.Invalid, claims.Unread
	f.Solver, f.CopyOf = claims.Solver, claims.CopyOf
	return f, nil
}

// istioGateway is a Gateway of Istio.
type istioGateway struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Servers []struct {
			Hosts []string `json:"hosts"`
		} `json:"servers"`
	} `json:"spec"`
}

func (in *Ingester) istioGateway(o *istioGateway) snapshot.IstioGateway {
	f := snapshot.IstioGateway{Meta: in.meta(snapshot.IstioGateways.Group(), "Gateway", &o.Metadata)}
	for i := range o.Spec.Servers {
		f.Hosts = append(f.Hosts, o.Spec.Servers[i].Hosts...)
	}
	return f
}

// withoutNulls removes the fields that are null from an object, in place. The API server
// treats them as absent.
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

// eachObject removes the null fields from the objects in a value.
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

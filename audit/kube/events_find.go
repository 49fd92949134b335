package kube

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// target is an object that an Event is to be recorded on: neither an object nor an
// error where it is gone.
type target struct {
	object *corev1.ObjectReference
	err    error
}

// find looks for objects as they are now. A finding knows neither their UIDs, since
// an object that is made anew is the same to its owner, nor the versions that are
// served; and kubectl describe shows no Event that lacks the UID.
func (e *Events) find(ctx context.Context, refs []snapshot.Ref) map[snapshot.Ref]target {
	targets := make([]target, len(refs))
	mapper, err := e.mapper(ctx)
	e.each(len(refs), func(i int) {
		if err != nil {
			targets[i].err = err
			return
		}
		targets[i].object, targets[i].err = e.findOne(ctx, mapper, refs[i])
	})
	found := make(map[snapshot.Ref]target, len(refs))
	for i, ref := range refs {
		found[ref] = targets[i]
	}
	return found
}

// mapper asks the API server which kinds it serves, and as what.
func (e *Events) mapper(ctx context.Context) (meta.RESTMapper, error) {
	client := discovery.ToDiscoveryInterfaceWithContext(e.conn.client.Discovery())
	var served []*restmapper.APIGroupResources
	err := e.patiently(ctx, func(ctx context.Context) (err error) {
		served, err = restmapper.GetAPIGroupResourcesWithContext(ctx, client)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask what the server serves: %w", err)
	}
	return restmapper.NewDiscoveryRESTMapper(served), nil
}

// findOne looks for one object, and returns nil where it is gone.
func (e *Events) findOne(ctx context.Context, mapper meta.RESTMapper, ref snapshot.Ref) (*corev1.ObjectReference, error) {
	kind, err := mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Of another scope than it was, it is another object.
	if (kind.Scope.Name() == meta.RESTScopeNameNamespace) != (ref.Namespace != "") {
		return nil, nil
	}
	o, err := e.metadata(ctx, kind.Resource, ref)
	if err != nil {
		return nil, fmt.Errorf("look for it: %w", err)
	}
	if o == nil {
		return nil, nil
	}
	version, k := kind.GroupVersionKind.ToAPIVersionAndKind()
	return &corev1.ObjectReference{APIVersion: version, Kind: k, Namespace: ref.Namespace, Name: ref.Name, UID: o.UID}, nil
}

// metadata reads one object in the way a sweep does, which needs no other right: it
// lists, narrowed to the name, but for the kinds of which a sweep reads only some
// objects. It returns nil where there is none.
func (e *Events) metadata(ctx context.Context, resource schema.GroupVersionResource, ref snapshot.Ref) (o *metav1.PartialObjectMetadata, err error) {
	client := e.objects.Resource(resource).Namespace(ref.Namespace)
	single := len(e.conn.customs[snapshot.KindOf(resource.Group, resource.Resource)].Only) > 0
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()}
	err = e.patiently(ctx, func(ctx context.Context) (err error) {
		if single {
			o, err = client.Get(ctx, ref.Name, metav1.GetOptions{})
			return err
		}
		list, err := client.List(ctx, only)
		if err != nil {
			return err
		}
		if list.ResourceVersion == "" {
			return errNoList
		}
		// A server that does not know the selector sends all.
		if i := slices.IndexFunc(list.Items, func(o metav1.PartialObjectMetadata) bool { return o.Name == ref.Name }); i >= 0 {
			o = &list.Items[i]
		}
		return nil
	})
	if single && apierrors.IsNotFound(err) {
		return nil, nil
	}
	return o, err
}

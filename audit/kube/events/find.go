package events

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

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// target is an object to record an Event on. It has neither an object nor an error if
// the object is gone.
type target struct {
	object *corev1.ObjectReference
	err    error
}

// find looks up objects as they are now. A finding has neither their UIDs, since to its
// owner an object that was recreated is the same, nor the versions that are served; and
// kubectl describe shows no Event without the UID.
func (r *Recorder) find(ctx context.Context, refs []snapshot.Ref) map[snapshot.Ref]target {
	targets := make([]target, len(refs))
	mapper, err := r.mapper(ctx)
	r.each(len(refs), func(i int) {
		if err != nil {
			targets[i].err = err
			return
		}
		targets[i].object, targets[i].err = r.findOne(ctx, mapper, refs[i])
	})
	found := make(map[snapshot.Ref]target, len(refs))
	for i, ref := range refs {
		found[ref] = targets[i]
	}
	return found
}

// mapper asks the API server which kinds it serves, as which resources.
func (r *Recorder) mapper(ctx context.Context) (meta.RESTMapper, error) {
	client := discovery.ToDiscoveryInterfaceWithContext(r.client.Clientset().Discovery())
	var served []*restmapper.APIGroupResources
	err := r.retry(ctx, func(ctx context.Context) (err error) {
		served, err = restmapper.GetAPIGroupResourcesWithContext(ctx, client)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("discover what the server serves: %w", err)
	}
	return restmapper.NewDiscoveryRESTMapper(served), nil
}

// findOne looks up one object, and returns nil if it is gone.
func (r *Recorder) findOne(ctx context.Context, mapper meta.RESTMapper, ref snapshot.Ref) (*corev1.ObjectReference, error) {
	kind, err := mapper.RESTMapping(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// If the scope of the kind changed, it is another object.
	if (kind.Scope.Name() == meta.RESTScopeNameNamespace) != (ref.Namespace != "") {
		return nil, nil
	}
	o, err := r.metadata(ctx, kind.Resource, ref)
	if err != nil {
		return nil, fmt.Errorf("look up the object: %w", err)
	}
	if o == nil {
		return nil, nil
	}
	version, k := kind.GroupVersionKind.ToAPIVersionAndKind()
	return &corev1.ObjectReference{APIVersion: version, Kind: k, Namespace: ref.Namespace, Name: ref.Name, UID: o.UID}, nil
}

// metadata reads the metadata of one object in the way a sweep does, so that it needs no
// other right: it lists, narrowed to the name, except for the kinds of which a sweep
// reads only some objects. It returns nil if there is none.
func (r *Recorder) metadata(ctx context.Context, resource schema.GroupVersionResource, ref snapshot.Ref) (o *metav1.PartialObjectMetadata, err error) {
	client := r.objects.Resource(resource).Namespace(ref.Namespace)
	single := r.singly(snapshot.KindOf(resource.Group, resource.Resource))
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()}
	err = r.retry(ctx, func(ctx context.Context) (err error) {
		if single {
			o, err = client.Get(ctx, ref.Name, metav1.GetOptions{})
			return err
		}
		list, err := client.List(ctx, only)
		if err != nil {
			return err
		}
		if list.ResourceVersion == "" {
			return kube.ErrNotList
		}
		// A server that does not know the selector sends all objects.
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

// singly reports whether a sweep reads only some objects of a kind, one by one.
func (r *Recorder) singly(kind snapshot.Kind) bool {
	return slices.ContainsFunc(r.customs, func(c ingest.Custom) bool { return c.Kind == kind && len(c.Only) > 0 })
}

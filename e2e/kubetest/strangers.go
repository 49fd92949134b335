package kubetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// object is one that a test, or whoever uses the cluster, has made.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
	finalizers      bool
}

func (o object) String() string {
	return fmt.Sprintf("%s %s/%s", o.resource.Resource, o.namespace, o.name)
}

// strangers finds every object but the Namespaces that the API server did not
// make for itself. It asks the server which kinds there are, so that it knows
// custom resources too.
func (c *Cluster) strangers(ctx context.Context) ([]object, error) {
	kinds, err := c.deletable(ctx)
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(c.Config(Admin))
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []object
	err = each(kinds, func(kind schema.GroupVersionResource) error {
		list, err := client.Resource(kind).List(ctx, metav1.ListOptions{})
		// A definition may have been deleted since.
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.GroupResource(), err)
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range list.Items {
			if m := &list.Items[i]; !own(kind, m) {
				found = append(found, object{kind, m.Namespace, m.Name, len(m.Finalizers) > 0})
			}
		}
		return nil
	})
	return found, err
}

// deletable returns the kinds whose objects can be listed and deleted.
func (c *Cluster) deletable(ctx context.Context) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config(Admin))
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResourcesWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the kinds there are: %w", err)
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("parse group and version: %w", err)
		}
		for _, r := range list.APIResources {
			kind := version.WithResource(r.Name)
			if ownKind(kind.GroupResource()) || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

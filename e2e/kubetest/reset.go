package kubetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// workers is the maximum number of concurrent requests.
const workers = 16

// noFinalizers is the merge patch that removes all finalizers of an object.
const noFinalizers = `{"metadata":{"finalizers":null}}`

// Reset restores the state of a new cluster: it deletes all objects that the API
// server did not create for itself, including custom resources and their definitions,
// and removes labels, annotations and finalizers of the Namespaces that stay. When it
// returns, granted rights no longer apply.
func (c *Cluster) Reset(ctx context.Context) error { return c.reset(ctx, false) }

// Empty does what Reset does but keeps CustomResourceDefinitions, which take seconds
// to delete and to install again.
func (c *Cluster) Empty(ctx context.Context) error { return c.reset(ctx, true) }

func (c *Cluster) reset(ctx context.Context, keepDefinitions bool) error {
	objects, err := c.createdObjects(ctx)
	if err != nil {
		return fmt.Errorf("reset cluster: %w", err)
	}
	client, err := metadata.NewForConfig(c.Config(Admin))
	if err != nil {
		return fmt.Errorf("reset cluster: %w", err)
	}
	definitions, rest := partition(objects, isCRD)
	if keepDefinitions {
		definitions = nil
	}
	// Objects are deleted before their Namespace or definition: no controller
	// empties those, so the objects would reappear with the next one of that name.
	for _, step := range []func() error{
		func() error { return forEach(rest, func(o object) error { return deleteObject(ctx, client, o) }) },
		func() error {
			return forEach(definitions, func(o object) error { return deleteObject(ctx, client, o) })
		},
		func() error { return c.resetNamespaces(ctx) },
		// The API server uses caches that lag behind.
		func() error { return c.awaitUnserved(ctx, definitions) },
		func() error {
			if !slices.ContainsFunc(rest, func(o object) bool { return o.resource.Group == rbacv1.GroupName }) {
				return nil
			}
			return c.awaitNoRights(ctx)
		},
	} {
		if err := step(); err != nil {
			return fmt.Errorf("reset cluster: %w", err)
		}
	}
	return nil
}

// deleteObject deletes an object immediately: without a grace period, which only a
// kubelet would end, and without finalizers, which only a controller would remove.
func deleteObject(ctx context.Context, client metadata.Interface, o object) error {
	objects := client.Resource(o.resource).Namespace(o.namespace)
	if o.finalizers {
		patch := []byte(noFinalizers)
		if _, err := objects.Patch(ctx, o.name, types.MergePatchType, patch, metav1.PatchOptions{}); ignoreNotFound(err) != nil {
			return fmt.Errorf("remove the finalizers of %s: %w", o, err)
		}
	}
	now, background := int64(0), metav1.DeletePropagationBackground
	err := objects.Delete(ctx, o.name, metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background})
	if ignoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", o, err)
	}
	return nil
}

// ignoreNotFound returns nil for an error that says that an object does not exist.
func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// resetNamespaces deletes all Namespaces but the built-in ones, and clears the
// metadata of those.
func (c *Cluster) resetNamespaces(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config(Admin))
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	return forEach(list.Items, func(ns corev1.Namespace) error {
		if isBuiltInNamespace(ns.Name) {
			return clearMetadata(ctx, client, ns)
		}
		return deleteNamespace(ctx, client, ns)
	})
}

// deleteNamespace deletes and finalizes a Namespace, which a controller would do.
func deleteNamespace(ctx context.Context, client kubernetes.Interface, ns corev1.Namespace) error {
	namespaces := client.CoreV1().Namespaces()
	if len(ns.Finalizers) > 0 {
		patch := []byte(noFinalizers)
		if _, err := namespaces.Patch(ctx, ns.Name, types.MergePatchType, patch, metav1.PatchOptions{}); ignoreNotFound(err) != nil {
			return fmt.Errorf("remove the finalizers of namespace %s: %w", ns.Name, err)
		}
	}
	if err := namespaces.Delete(ctx, ns.Name, metav1.DeleteOptions{}); ignoreNotFound(err) != nil {
		return fmt.Errorf("delete namespace %s: %w", ns.Name, err)
	}
	// No resourceVersion: finalize it whatever has changed.
	ns.ResourceVersion, ns.Finalizers, ns.Spec.Finalizers = "", nil, nil
	if _, err := namespaces.Finalize(ctx, &ns, metav1.UpdateOptions{}); ignoreNotFound(err) != nil {
		return fmt.Errorf("finalize namespace %s: %w", ns.Name, err)
	}
	return nil
}

func clearMetadata(ctx context.Context, client kubernetes.Interface, ns corev1.Namespace) error {
	const nameLabel = corev1.LabelMetadataName // set by the API server
	if len(ns.Annotations) == 0 && len(ns.Finalizers) == 0 && len(ns.Labels) == 1 && ns.Labels[nameLabel] == ns.Name {
		return nil
	}
	ns.Annotations, ns.Finalizers, ns.Labels = nil, nil, map[string]string{nameLabel: ns.Name}
	if _, err := client.CoreV1().Namespaces().Update(ctx, &ns, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("clear the metadata of namespace %s: %w", ns.Name, err)
	}
	return nil
}

// forEach calls f for every item, a few at a time, and returns the first error.
func forEach[T any](items []T, f func(T) error) error {
	var group errgroup.Group
	group.SetLimit(workers)
	for _, item := range items {
		group.Go(func() error { return f(item) })
	}
	return group.Wait()
}

// partition splits items by a condition and keeps their order.
func partition[T any](items []T, is func(T) bool) (matching, others []T) {
	for _, item := range items {
		if is(item) {
			matching = append(matching, item)
		} else {
			others = append(others, item)
		}
	}
	return matching, others
}

// object is an object that a test or a program has created.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
	finalizers      bool
}

func (o object) String() string {
	return fmt.Sprintf("%s %s/%s", o.resource.Resource, o.namespace, o.name)
}

// createdObjects returns all objects that the API server did not create for itself,
// except Namespaces. It discovers the kinds, so it includes custom resources.
func (c *Cluster) createdObjects(ctx context.Context) ([]object, error) {
	kinds, err := c.deletableKinds(ctx)
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(c.Config(Admin))
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []object
	err = forEach(kinds, func(kind schema.GroupVersionResource) error {
		list, err := client.Resource(kind).List(ctx, metav1.ListOptions{})
		// Its definition may have been deleted in the meantime.
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.GroupResource(), err)
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range list.Items {
			if m := &list.Items[i]; !isBuiltIn(kind, m) {
				found = append(found, object{kind, m.Namespace, m.Name, len(m.Finalizers) > 0})
			}
		}
		return nil
	})
	return found, err
}

// deletableKinds returns the kinds whose objects can be listed and deleted.
func (c *Cluster) deletableKinds(ctx context.Context) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config(Admin))
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResourcesWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("discover kinds: %w", err)
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("parse group and version: %w", err)
		}
		for _, r := range list.APIResources {
			kind := version.WithResource(r.Name)
			if isBuiltInKind(kind.GroupResource()) || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// isBuiltInNamespace reports whether the API server creates the Namespace and
// recreates it when it is deleted.
func isBuiltInNamespace(name string) bool {
	switch name {
	case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease:
		return true
	}
	return false
}

// isBuiltInKind reports whether the API server manages all objects of a kind.
// Namespaces count as such because resetNamespaces handles them.
func isBuiltInKind(kind schema.GroupResource) bool {
	switch kind.String() {
	case "namespaces", "apiservices.apiregistration.k8s.io",
		"flowschemas.flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
		"ipaddresses.networking.k8s.io", "servicecidrs.networking.k8s.io":
		return true
	}
	return false
}

// isBuiltIn reports whether the API server created an object for itself.
func isBuiltIn(kind schema.GroupVersionResource, m *metav1.PartialObjectMetadata) bool {
	switch {
	case m.Labels["kubernetes.io/bootstrapping"] == "rbac-defaults":
		return true
	case m.Namespace == metav1.NamespaceDefault && m.Name == "kubernetes":
		return kind.Resource == "services" || kind.Resource == "endpoints" || kind.Resource == "endpointslices"
	case m.Namespace == metav1.NamespaceSystem && kind.Resource == "configmaps":
		return m.Name == "extension-apiserver-authentication" || m.Name == "kube-apiserver-legacy-service-account-token-tracking"
	case m.Namespace == metav1.NamespaceSystem && kind.Resource == "leases":
		return m.Labels["apiserver.kubernetes.io/identity"] != ""
	case kind.Resource == "priorityclasses":
		return m.Name == "system-cluster-critical" || m.Name == "system-node-critical"
	}
	return false
}

func isCRD(o object) bool { return o.resource.Resource == "customresourcedefinitions" }

// awaitUnserved waits until the API server no longer serves the kinds of deleted
// definitions, which it does for a moment after the deletion.
func (c *Cluster) awaitUnserved(ctx context.Context, definitions []object) error {
	if len(definitions) == 0 {
		return nil
	}
	return eventually(ctx, "wait for custom kinds to go", func(ctx context.Context) (bool, error) {
		served, err := c.deletableKinds(ctx)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(served, func(kind schema.GroupVersionResource) bool {
			// The name of a definition is that of its kind.
			return slices.ContainsFunc(definitions, func(o object) bool { return o.name == kind.GroupResource().String() })
		}), nil
	})
}

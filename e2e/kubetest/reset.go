package kubetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// resetWorkers is the number of deletions under way at once.
const resetWorkers = 16

// noFinalizers is the merge patch that takes all finalizers off an object.
const noFinalizers = `{"metadata":{"finalizers":null}}`

// Reset makes the cluster as it was when it was started: it deletes whatever
// the API server did not make for itself, custom resources and their
// definitions included, and takes labels, annotations and finalizers off the
// Namespaces that stay. When it returns, rights that were given are gone too.
func (c *Cluster) Reset(ctx context.Context) error { return c.reset(ctx, false) }

// Empty does what Reset does, but keeps the definitions of custom kinds, which
// take seconds to go and to come again.
func (c *Cluster) Empty(ctx context.Context) error { return c.reset(ctx, true) }

func (c *Cluster) reset(ctx context.Context, keepDefinitions bool) error {
	objects, err := c.strangers(ctx)
	if err != nil {
		return fmt.Errorf("reset cluster: %w", err)
	}
	client, err := metadata.NewForConfig(c.Config(Admin))
	if err != nil {
		return fmt.Errorf("reset cluster: %w", err)
	}
	definitions, rest := split(objects, isDefinition)
	if keepDefinitions {
		definitions = nil
	}
	// What holds others goes after them: with no controller to empty it first,
	// what is in a Namespace or of a custom kind would come back with the next
	// one of that name.
	for _, step := range []func() error{
		func() error { return each(rest, func(o object) error { return remove(ctx, client, o) }) },
		func() error { return each(definitions, func(o object) error { return remove(ctx, client, o) }) },
		func() error { return c.resetNamespaces(ctx) },
		// The API server goes by caches that are a moment behind.
		func() error { return c.awaitUnserved(ctx, definitions) },
		func() error { return c.awaitNoRights(ctx, rest) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("reset cluster: %w", err)
		}
	}
	return nil
}

// remove deletes an object at once: without grace, which only a kubelet would
// end, and without finalizers, which only a controller would take off.
func remove(ctx context.Context, client metadata.Interface, o object) error {
	objects := client.Resource(o.resource).Namespace(o.namespace)
	if o.finalizers {
		patch := []byte(noFinalizers)
		if _, err := objects.Patch(ctx, o.name, types.MergePatchType, patch, metav1.PatchOptions{}); gone(err) != nil {
			return fmt.Errorf("free %s: %w", o, err)
		}
	}
	now, background := int64(0), metav1.DeletePropagationBackground
	err := objects.Delete(ctx, o.name, metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background})
	if gone(err) != nil {
		return fmt.Errorf("delete %s: %w", o, err)
	}
	return nil
}

// gone lets pass that an object is not there any more.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// resetNamespaces ends all Namespaces but the API server's own, and bares
// those.
func (c *Cluster) resetNamespaces(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Config(Admin))
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	return each(list.Items, func(ns corev1.Namespace) error {
		if ownNamespace(ns.Name) {
			return bare(ctx, client, ns)
		}
		return end(ctx, client, ns)
	})
}

// end deletes a Namespace in the place of the controller that would do so.
func end(ctx context.Context, client kubernetes.Interface, ns corev1.Namespace) error {
	namespaces := client.CoreV1().Namespaces()
	if len(ns.Finalizers) > 0 {
		patch := []byte(noFinalizers)
		if _, err := namespaces.Patch(ctx, ns.Name, types.MergePatchType, patch, metav1.PatchOptions{}); gone(err) != nil {
			return fmt.Errorf("free namespace %s: %w", ns.Name, err)
		}
	}
	if err := namespaces.Delete(ctx, ns.Name, metav1.DeleteOptions{}); gone(err) != nil {
		return fmt.Errorf("delete namespace %s: %w", ns.Name, err)
	}
	// Whatever it looks like by now, it ends.
	ns.ResourceVersion, ns.Finalizers, ns.Spec.Finalizers = "", nil, nil
	if _, err := namespaces.Finalize(ctx, &ns, metav1.UpdateOptions{}); gone(err) != nil {
		return fmt.Errorf("finalize namespace %s: %w", ns.Name, err)
	}
	return nil
}

func bare(ctx context.Context, client kubernetes.Interface, ns corev1.Namespace) error {
	const nameLabel = corev1.LabelMetadataName // which the server sets itself
	if len(ns.Annotations) == 0 && len(ns.Finalizers) == 0 && len(ns.Labels) == 1 && ns.Labels[nameLabel] == ns.Name {
		return nil
	}
	ns.Annotations, ns.Finalizers, ns.Labels = nil, nil, map[string]string{nameLabel: ns.Name}
	if _, err := client.CoreV1().Namespaces().Update(ctx, &ns, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("bare namespace %s: %w", ns.Name, err)
	}
	return nil
}

// each calls f for every item, a few at a time, and joins the errors.
func each[T any](items []T, f func(T) error) error {
	queue := make(chan T)
	errs := make([]error, resetWorkers)
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			for item := range queue {
				errs[i] = errors.Join(errs[i], f(item))
			}
		})
	}
	for _, item := range items {
		queue <- item
	}
	close(queue)
	workers.Wait()
	return errors.Join(errs...)
}

// split parts items by what they are, and keeps their order.
func split[T any](items []T, is func(T) bool) (those, others []T) {
	for _, item := range items {
		if is(item) {
			those = append(those, item)
		} else {
			others = append(others, item)
		}
	}
	return those, others
}

package ingest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// How much is kept of what holds an object: anyone who can edit it can add any number of
// finalizers.
const (
	namedFinalizers = 3
	longestHold     = 300 // bytes
)

// deletion returns what is known of the deletion of an object, or nil.
func deletion(o *metav1.ObjectMeta) *snapshot.Deletion {
	if o.DeletionTimestamp == nil {
		return nil
	}
	return &snapshot.Deletion{At: o.DeletionTimestamp.UTC(), Held: finalizers(o.Finalizers)}
}

// finalizers names what holds an object.
func finalizers(names []string) string {
	if len(names) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(names))
	text := "finalizer "
	if len(sorted) > 1 {
		text = "finalizers "
	}
	text += strings.Join(sorted[:min(len(sorted), namedFinalizers)], ", ")
	text = shortened(text, longestHold)
	if more := len(sorted) - namedFinalizers; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// namespaceDeletion returns what is known of the deletion of a Namespace, or nil. One in
// phase Terminating is being deleted, whatever its metadata says. The namespace
// controller reports what is left in it, with the finalizers that hold it.
func namespaceDeletion(o *corev1.Namespace) *snapshot.Deletion {
	d := deletion(&o.ObjectMeta)
	if d == nil {
		if o.Status.Phase != corev1.NamespaceTerminating {
			return nil
		}
		d = &snapshot.Deletion{}
	}
	for _, kind := range []corev1.NamespaceConditionType{corev1.NamespaceFinalizersRemaining, corev1.NamespaceContentRemaining} {
		for _, c := range o.Status.Conditions {
			if d.Held == "" && c.Type == kind && c.Status == corev1.ConditionTrue && c.Message != "" {
				d.Held = fmt.Sprintf("%q", shortened(c.Message, longestHold))
			}
		}
	}
	return d
}

// shortened returns a text of at most n bytes.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "..."
}

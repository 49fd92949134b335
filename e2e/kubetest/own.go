package kubetest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ownNamespace reports whether every API server makes the Namespace, and makes
// it again.
func ownNamespace(name string) bool {
	switch name {
	case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease:
		return true
	}
	return false
}

// ownKind reports whether all objects of a kind are the API server's business.
// Namespaces count as such, since they need a treatment of their own.
func ownKind(kind schema.GroupResource) bool {
	switch kind.String() {
	case "namespaces", "apiservices.apiregistration.k8s.io",
		"flowschemas.flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
		"ipaddresses.networking.k8s.io", "servicecidrs.networking.k8s.io":
		return true
	}
	return false
}

// own reports whether the API server made an object for itself.
func own(kind schema.GroupVersionResource, m *metav1.PartialObjectMetadata) bool {
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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the API server knows the custom resources by.
const (
	Group    = "eventuallytrue.dev"
	Version  = "v1alpha1"
	Resource = "findings"
	Kind     = "Finding"
)

// GroupVersion returns group and version of the custom resources.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToScheme makes the custom resources known to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &Finding{}, &FindingList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}

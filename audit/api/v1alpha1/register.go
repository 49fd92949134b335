package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The names of the custom resources in the API.
const (
	Group    = "eventuallytrue.dev"
	Version  = "v1alpha1"
	Resource = "findings"
	Kind     = "Finding"
)

// GroupVersion returns the group and version of the custom resources.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToScheme adds the custom resources to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &Finding{}, &FindingList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}

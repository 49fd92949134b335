package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finding is one broken instance of an invariant. Its name is made from the rule and
// a hash of the subject, so that every sweep that finds the same thing uses the same
// object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="self.metadata.name.startsWith(self.spec.rule + '-')",message="the name must begin with the rule"
// +kubebuilder:resource:shortName=fnd,categories=audit
// +kubebuilder:printcolumn:name="Rule",type=string,JSONPath=`.spec.rule`
// +kubebuilder:printcolumn:name="Subject",type=string,JSONPath=`.status.title`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.status.ownerList`
// +kubebuilder:printcolumn:name="Severity",type=string,JSONPath=`.status.severity`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.status.firstSeen`
type Finding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec identifies what the finding is about. It never changes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the rule and the subject of a finding are immutable"
	Spec FindingSpec `json:"spec"`
	// Status is what audit knows about the finding. It is missing if audit was
	// interrupted right after it created the finding.
	// +optional
	Status *FindingStatus `json:"status,omitempty"`
}

// FindingList is a list of findings.
//
// +kubebuilder:object:root=true
type FindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Finding `json:"items"`
}

// FindingSpec is the identity of a finding.
//
// +structType=atomic
type FindingSpec struct {
	// Rule is the name of the rule that is broken.
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`
	Rule string `json:"rule"`
	// Subject is what breaks the rule. A field that is too long is cut and ends in
	// "…"; the finding's name is made from the uncut subject.
	Subject Subject `json:"subject"`
}

// Subject is what breaks a rule, such as a host or a namespace.
type Subject struct {
	// Kind is the kind of the subject, such as Host or Namespace.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace is the namespace of the subject, if it has one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the subject.
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name"`
	// Detail distinguishes subjects of one name, such as Ingress and Egress of a
	// namespace.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Detail string `json:"detail,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finding is one broken instance of an invariant. Its name is made of the rule
// and a hash of the subject, so that one thing is found once however many sweeps
// find it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="self.metadata.name.startsWith(self.spec.rule + '-')",message="the name begins with the rule"
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

	// Spec is what the finding is about. It never changes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a finding is about one thing for ever"
	Spec FindingSpec `json:"spec"`
	// Status is what is known of it. It is missing where the finding was created
	// and nothing was written after that.
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
	// Subject is the thing that breaks it. One that is longer than fits here is
	// cut and ends in "…": the finding's name is made of the whole.
	Subject Subject `json:"subject"`
}

// Subject is the thing that is wrong.
type Subject struct {
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Detail string `json:"detail,omitempty"`
}

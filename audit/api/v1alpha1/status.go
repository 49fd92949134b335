package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State is where a finding stands in its life.
//
// +kubebuilder:validation:Enum=Pending;Open;Resolved
type State string

// The states of a finding.
const (
	StatePending  State = "Pending"  // seen, and younger than its rule's "for"
	StateOpen     State = "Open"     // seen by the last sweep that could judge it
	StateResolved State = "Resolved" // not there any more, or not to be told any more
)

// FindingStatus is what is known of a finding. Nothing in it changes while the
// cluster does not. It is written as a whole, and so it is of no use to note of each
// field who wrote it: that would be a third of all that is stored.
//
// +structType=atomic
type FindingStatus struct {
	State State `json:"state"`
	// Reason is a word for why the finding is in this state.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Reason string `json:"reason,omitempty"`
	// +kubebuilder:validation:Enum=low;medium;high
	// +optional
	Severity string `json:"severity,omitempty"`
	// Verdict is the rule's word for what is wrong.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Verdict string `json:"verdict,omitempty"`
	// Title is the subject in one string, for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Title string `json:"title,omitempty"`
	// Owners must act, sorted: as many as fit.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Owners []Owner `json:"owners,omitempty"`
	// OwnerList is Owners in one string, for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	OwnerList string `json:"ownerList,omitempty"`
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Message string `json:"message,omitempty"`
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Cause string `json:"cause,omitempty"`
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Remedy string `json:"remedy,omitempty"`
	// Objects are those that the finding rests on: as many as fit, the oldest
	// first.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Objects []Object `json:"objects,omitempty"`
	// MoreObjects counts those that did not fit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MoreObjects int32 `json:"moreObjects,omitempty"`
	// Sweeps counts the sweeps that saw it while it is pending.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Sweeps int32 `json:"sweeps,omitempty"`
	// FirstSeen is when a sweep saw it first, since it was last resolved.
	// +optional
	FirstSeen *metav1.Time `json:"firstSeen,omitempty"`
	// +optional
	OpenedAt *metav1.Time `json:"openedAt,omitempty"`
	// +optional
	ResolvedAt *metav1.Time `json:"resolvedAt,omitempty"`
	// Reopened counts how often it came back.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Reopened int32 `json:"reopened,omitempty"`
	// Storm is true where it was opened together with more findings than owners
	// should be told of one by one.
	// +optional
	Storm bool `json:"storm,omitempty"`
	// Told is what each owner was told by each sender, and what is to be told.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=sender
	// +listMapKey=owner
	// +optional
	Notifications []Notification `json:"told,omitempty"`
}

// Owner is the name of a team, or what stands for one.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type Owner string

// Object is an object that a finding rests on.
type Object struct {
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Owner string `json:"owner,omitempty"`
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Reason string `json:"reason,omitempty"`
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Detail string `json:"detail,omitempty"`
}

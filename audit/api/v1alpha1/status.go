package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State is the state of a finding: Pending, Open or Resolved.
//
// +kubebuilder:validation:Enum=Pending;Open;Resolved
type State string

// The states of a finding.
const (
	StatePending  State = "Pending"  // seen, but not yet for as long as its rule's "for"
	StateOpen     State = "Open"     // seen by the last sweep that evaluated its rule
	StateResolved State = "Resolved" // no longer seen, or its rule no longer applies
)

// FindingStatus is what audit knows about a finding. It does not change unless the
// cluster does. It is always written as a whole.
//
// +structType=atomic
type FindingStatus struct {
	// State is Pending if the violation has not yet lasted as long as its rule
	// requires, Open if the last sweep that evaluated the rule saw it, and Resolved
	// otherwise.
	State State `json:"state"`
	// Reason is one word for why the finding is in this state.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Reason string `json:"reason,omitempty"`
	// Severity is low, medium or high.
	// +kubebuilder:validation:Enum=low;medium;high
	// +optional
	Severity string `json:"severity,omitempty"`
	// Verdict is one word for what is wrong.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Verdict string `json:"verdict,omitempty"`
	// Culprit is the namespace that caused the violation: of a contested host, that of the
	// later claimant.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Culprit string `json:"culprit,omitempty"`
	// Title is the subject as one string.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Title string `json:"title,omitempty"`
	// Owners are the teams that must act, sorted. At most 100 are kept: first those who
	// own a namespace that is involved, then those whom an object names.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Owners []Owner `json:"owners,omitempty"`
	// MoreOwners is the number of owners who are not kept, and not notified. The
	// fallback owner is notified in their place.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MoreOwners int32 `json:"moreOwners,omitempty"`
	// OwnerList is the owners as one string.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	OwnerList string `json:"ownerList,omitempty"`
	// Message describes the violation.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Message string `json:"message,omitempty"`
	// Cause describes how the violation got past admission control, if there is
	// evidence.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Cause string `json:"cause,omitempty"`
	// Remedy describes how to fix the violation.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Remedy string `json:"remedy,omitempty"`
	// Objects are the objects that the finding is about, oldest first. At most 100
	// are kept.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Objects []Object `json:"objects,omitempty"`
	// MoreObjects is the number of objects beyond the first 100.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MoreObjects int32 `json:"moreObjects,omitempty"`
	// Sweeps is the number of sweeps that have seen a pending finding.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Sweeps int32 `json:"sweeps,omitempty"`
	// FirstSeen is when a sweep first saw the violation since it was last resolved.
	// +optional
	FirstSeen *metav1.Time `json:"firstSeen,omitempty"`
	// OpenedAt is when the finding was last opened.
	// +optional
	OpenedAt *metav1.Time `json:"openedAt,omitempty"`
	// ResolvedAt is when the finding was resolved.
	// +optional
	ResolvedAt *metav1.Time `json:"resolvedAt,omitempty"`
	// Reopened is how often the finding was opened again after it was resolved.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Reopened int32 `json:"reopened,omitempty"`
	// Storm is true if the finding was opened together with so many others that
	// owners get a summary instead of a message for each.
	// +optional
	Storm bool `json:"storm,omitempty"`
	// Notifications record what each owner was sent by each sender, and what is
	// still to be sent.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=sender
	// +listMapKey=owner
	// +optional
	Notifications []Notification `json:"notifications,omitempty"`
}

// Owner is the name of a team, or of what takes its place, such as a namespace without
// an owner.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
type Owner string

// Object is an object that a finding is about.
type Object struct {
	// Group is the API group of the object, empty for the core group.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`
	// Kind is the kind of the object.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace is the namespace of the object, if it has one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Owner is the owner of the object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Owner string `json:"owner,omitempty"`
	// CreatedAt is when the object was created.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// Reason is one word for how the object is involved.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Reason string `json:"reason,omitempty"`
	// Detail is the part of the object that is involved, such as a path.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Detail string `json:"detail,omitempty"`
}

// Notification records what one owner was sent about a finding by one sender, and what
// is still to be sent. It is written before a message is sent, and again after the
// receiver has responded.
type Notification struct {
	// Sender is what sends the messages, such as slack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	Sender string `json:"sender"`
	// Owner is the owner that the messages are for.
	Owner Owner `json:"owner"`
	// Pending is the event that is not sent yet.
	// +optional
	Pending Event `json:"pending,omitempty"`
	// ClaimedBy is the publisher that is sending the pending event. No other publisher
	// sends it meanwhile.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	ClaimedBy string `json:"claimedBy,omitempty"`
	// ClaimedAt is when that publisher claimed the pending event.
	// +optional
	ClaimedAt *metav1.Time `json:"claimedAt,omitempty"`
	// ClaimedWithLease is true if that publisher held the Lease.
	// +optional
	ClaimedWithLease bool `json:"claimedWithLease,omitempty"`
	// Last is the event that was sent last.
	// +optional
	Last Event `json:"last,omitempty"`
	// At is when the last event was sent.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
	// Channel is where the opening was sent, as the receiver identifies it: in Slack,
	// the ID of the channel.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	Channel string `json:"channel,omitempty"`
	// Message is the message of the opening, as the receiver identifies it: in Slack,
	// the ts of the message.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	Message string `json:"message,omitempty"`
	// Error is why the receiver refused the event permanently or, after an attempt
	// without a response, why there was none.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	Error string `json:"error,omitempty"`
	// Attempts is the number of times that the pending event was sent without a
	// response from the receiver, which may have accepted it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// AttemptedAt is when the last of these attempts was made. The next one waits, the
	// longer the more there were.
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// AttemptID identifies the message of these attempts to receivers that recognize a
	// message that is sent again.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	AttemptID string `json:"attemptID,omitempty"`
}

// Event is what a notification says about a finding.
//
// +kubebuilder:validation:Enum=opened;reopened;changed;details;resolved;released
type Event string

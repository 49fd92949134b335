package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Told is what one owner was told of a finding by one sender, and what is to be
// told. It is written before something is sent, and again after the answer.
type Notification struct {
	// Sender is what sends, such as slack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	Sender string `json:"sender"`
	Owner  Owner  `json:"owner"`
	// Due is what is to be told and was not yet.
	// +optional
	Pending Event `json:"due,omitempty"`
	// TakenBy is who is telling it since TakenAt: nobody else does meanwhile.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	ClaimedBy string `json:"takenBy,omitempty"`
	// +optional
	ClaimedAt *metav1.Time `json:"takenAt,omitempty"`
	// TakenLeased is true where TakenBy had the Lease.
	// +optional
	ClaimedWithLease bool `json:"takenLeased,omitempty"`
	// Last is what was told last, and At when that was.
	// +optional
	Last Event `json:"last,omitempty"`
	// +optional
	At *metav1.Time `json:"at,omitempty"`
	// Channel and Message are where the opening was told, as the receiver names
	// it: of Slack the channel's ID and the message's ts.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	Channel string `json:"channel,omitempty"`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	Message string `json:"message,omitempty"`
	// Error says why the receiver refused it for good.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	Error string `json:"error,omitempty"`
}

// Event is what an owner is told of a finding.
//
// +kubebuilder:validation:Enum=opened;reopened;changed;details;resolved;released
type Event string

package ingest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Namespace returns the fact of a Namespace. One that is being deleted is
// terminating at once, whatever its phase says yet.
func (in *Ingester) Namespace(o *corev1.Namespace) snapshot.Namespace {
	return snapshot.Namespace{
		Meta:        in.meta("", "Namespace", &o.ObjectMeta),
		Labels:      in.labelSet(o.Labels),
		Terminating: o.DeletionTimestamp != nil || o.Status.Phase == corev1.NamespaceTerminating,
		Channel:     in.channelOf(o),
	}
}

// longestChannel is more than the name of a channel has bytes. An annotation can
// be three thousand times as long.
const longestChannel = 400

// channelOf returns what a Namespace says of its owner's channel. What is too long
// for a name is cut, and stays too long for one.
func (in *Ingester) channelOf(o *corev1.Namespace) string {
	if in.channel == "" {
		return ""
	}
	channel := strings.TrimSpace(o.Annotations[in.channel])
	if len(channel) > longestChannel {
		channel = strings.ToValidUTF8(channel[:longestChannel], "")
	}
	// A copy, so that the annotation itself is not kept.
	return strings.Clone(channel)
}

// Pod returns the fact of a Pod. A pod that is only being deleted still has its
// network; one that succeeded or failed has none.
func (in *Ingester) Pod(o *corev1.Pod) snapshot.Pod {
	return snapshot.Pod{
		Meta:        in.meta("", "Pod", &o.ObjectMeta),
		Controller:  in.controller(&o.ObjectMeta),
		Labels:      in.labelSet(o.Labels),
		HostNetwork: o.Spec.HostNetwork,
		Finished:    o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed,
	}
}

// ReplicationController returns the fact of a ReplicationController.
func (in *Ingester) ReplicationController(o *corev1.ReplicationController) snapshot.Workload {
	w := in.workload("", "ReplicationController", &o.ObjectMeta, nil)
	if o.Spec.Template != nil {
		in.template(&w, o.Spec.Template)
	}
	return w
}

// Package snapshot holds the frozen facts of one sweep: the few fields of each
// object that rules need, and how completely each kind was read.
//
// A Builder collects facts and a Snapshot serves them, sorted. A rule never
// sees the Snapshot itself but a View of it, which opens only the kinds that
// the rule declared. The package knows nothing of API objects or clients:
// package ingest turns the one into the other.
package snapshot

import "strings"

// Kind names a kind of object the way kubectl names a resource: the plural,
// and behind a dot the API group where there is one. The version is no part of
// it, since one object can be read in several.
type Kind string

// The kinds that facts exist for.
const (
	Namespaces             Kind = "namespaces"
	Pods                   Kind = "pods"
	ReplicationControllers Kind = "replicationcontrollers"
	DaemonSets             Kind = "daemonsets.apps"
	Deployments            Kind = "deployments.apps"
	ReplicaSets            Kind = "replicasets.apps"
	StatefulSets           Kind = "statefulsets.apps"
	CronJobs               Kind = "cronjobs.batch"
	Jobs                   Kind = "jobs.batch"
	IngressClasses         Kind = "ingressclasses.networking.k8s.io"
	Ingresses              Kind = "ingresses.networking.k8s.io"
	NetworkPolicies        Kind = "networkpolicies.networking.k8s.io"
)

// Resource returns the plural without the group, as it stands in a URL.
func (k Kind) Resource() string {
	resource, _, _ := strings.Cut(string(k), ".")
	return resource
}

// Group returns the API group, empty for the core group.
func (k Kind) Group() string {
	_, group, _ := strings.Cut(string(k), ".")
	return group
}

// Status says how a kind was read.
type Status string

const (
	// Listed means that every object of the kind was read.
	Listed Status = "listed"
	// Absent means that the API server does not serve the kind, so there are
	// none. It is as good as listed.
	Absent Status = "absent"
	// Forbidden means that the account may not list the kind: what there is
	// of it is unknown.
	Forbidden Status = "forbidden"
	// Failed means that the kind was not read to its end: what there is of it
	// is unknown, and what was read of it was thrown away.
	Failed Status = "failed"
)

// Known reports whether the status tells how many objects there are, be it
// none.
func (s Status) Known() bool { return s == Listed || s == Absent }

// Read says how one kind was read.
type Read struct {
	Kind    Kind
	Version string // the API version read, such as "v1"
	Status  Status
	Items   int    // objects read
	Err     string // why the status is Forbidden or Failed
}

package snapshot

import "time"

// Namespace is the fact of a Namespace.
type Namespace struct {
	Meta
	Labels      Labels
	Terminating bool // deleted, or in phase Terminating
	// Channel is what the Namespace says of the channel in which its owner is to
	// be told, where the config lets an annotation of it say that. It is a claim.
	Channel string
}

// Ingress is the fact of an Ingress: what it claims, as it is written.
type Ingress struct {
	Meta
	// Class is the class asked for: the older annotation, which takes
	// precedence, or spec.ingressClassName. Empty where neither is set.
	Class string
	// Hosts are the claims, in the order of the object: rules, then
	// annotations. An empty host is a rule for every host.
	Hosts []HostClaim
	// TLSHosts are the hosts of spec.tls.
	TLSHosts []string
	// DefaultOnly is true where spec.defaultBackend stands without any rule.
	DefaultOnly bool
	// LoadBalancerGroup is the group of Ingresses that share one load balancer
	// with this one, where its class makes one for each Ingress otherwise.
	LoadBalancerGroup string
	// SolverLabel, ChallengeOwner and ChallengePaths are the three marks of
	// cert-manager's HTTP01 solver: its label, its owner reference to a
	// Challenge, and that only paths of ACME challenges are routed.
	SolverLabel, ChallengeOwner, ChallengePaths bool
	// Unreadable are annotations that should name hosts but cannot be read,
	// each with the reason.
	Unreadable []string
}

// HostSource says which field of an object claims a host.
type HostSource string

// The fields that claim a host.
const (
	FromRule        HostSource = "rule"          // spec.rules[].host
	FromServerAlias HostSource = "server-alias"  // nginx.ingress.kubernetes.io/server-alias
	FromExternalDNS HostSource = "external-dns"  // external-dns.alpha.kubernetes.io/hostname
	FromALB         HostSource = "alb-condition" // alb.ingress.kubernetes.io/conditions.*
	FromDefault     HostSource = "default-backend"
)

// HostClaim is a host as the object spells it.
type HostClaim struct {
	Host   string
	Source HostSource
	// Set is what HostsSet is of the spec, for an annotation.
	Set time.Time
}

// IngressClass is the fact of an IngressClass.
type IngressClass struct {
	Meta
	Controller string
	Default    bool // used by Ingresses that name no class
}

// Controller is the owner reference that controls an object. The zero value
// means that nothing does.
type Controller struct {
	Group, Kind, Name string
}

// Workload is the fact of an object that makes pods: Deployment, StatefulSet,
// DaemonSet, ReplicaSet, ReplicationController, Job or CronJob.
type Workload struct {
	Meta
	Controller  Controller
	PodLabels   Labels // of the pod template, not the workload's own
	HostNetwork bool   // of the pod template
	Finished    bool   // a Job that completed or failed
	UID         string // of a Job, whose pods have it in a label; else empty
}

// Pod is the fact of a Pod.
type Pod struct {
	Meta
	Controller  Controller
	Labels      Labels
	HostNetwork bool
	Finished    bool // phase Succeeded or Failed: it has no network any more
}

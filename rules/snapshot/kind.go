// Package snapshot holds the frozen facts of one sweep: the few fields of each
// object that rules need, and how completely each kind was read.
//
// A Builder collects facts and a Snapshot serves them, sorted. A rule never sees
// the Snapshot itself but a View of it, which serves only the kinds that the rule
// declared. The package knows nothing of API objects or clients: package ingest
// converts API objects to facts.
package snapshot

import (
	"slices"
	"strings"
)

// Kind names a kind of object as kubectl names a resource: the plural, followed by
// a dot and the API group if there is one. The version is not part of it, since
// one object can be read in several.
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

// The parameters of IngressClasses: those of the AWS Load Balancer Controller, and
// those of the one in EKS Auto Mode.
const (
	AWSIngressClassParams Kind = "ingressclassparams.elbv2.k8s.aws"
	EKSIngressClassParams Kind = "ingressclassparams.eks.amazonaws.com"
)

// The kinds of policies besides NetworkPolicy, and what belongs to them. Calico
// serves its kinds in two groups and stores them in the older one.
const (
	CiliumNetworkPolicies            Kind = "ciliumnetworkpolicies.cilium.io"
	CiliumClusterwideNetworkPolicies Kind = "ciliumclusterwidenetworkpolicies.cilium.io"
	CalicoNetworkPolicies            Kind = "networkpolicies.projectcalico.org"
	CalicoGlobalNetworkPolicies      Kind = "globalnetworkpolicies.projectcalico.org"
	CalicoTiers                      Kind = "tiers.projectcalico.org"
	StoredCalicoNetworkPolicies      Kind = "networkpolicies.crd.projectcalico.org"
	StoredCalicoGlobalPolicies       Kind = "globalnetworkpolicies.crd.projectcalico.org"
	StoredCalicoTiers                Kind = "tiers.crd.projectcalico.org"
	ClusterNetworkPolicies           Kind = "clusternetworkpolicies.policy.networking.k8s.io"
	AdminNetworkPolicies             Kind = "adminnetworkpolicies.policy.networking.k8s.io"
	BaselineAdminNetworkPolicies     Kind = "baselineadminnetworkpolicies.policy.networking.k8s.io"
	AWSClusterNetworkPolicies        Kind = "clusternetworkpolicies.networking.k8s.aws"
	CiliumConfigs                    Kind = "configmaps" // of which only Cilium's own is read
)

// The kinds of named sets of addresses that policies refer to. Calico serves and
// stores them as it does its policies.
const (
	CiliumCIDRGroups              Kind = "ciliumcidrgroups.cilium.io"
	CalicoNetworkSets             Kind = "networksets.projectcalico.org"
	CalicoGlobalNetworkSets       Kind = "globalnetworksets.projectcalico.org"
	StoredCalicoNetworkSets       Kind = "networksets.crd.projectcalico.org"
	StoredCalicoGlobalNetworkSets Kind = "globalnetworksets.crd.projectcalico.org"
)

// AddressSetKinds are the kinds of named sets of addresses, sorted.
func AddressSetKinds() []Kind { return append([]Kind{CiliumCIDRGroups}, calicoSetKinds()...) }

// calicoSetKinds are the kinds of Calico's sets, sorted.
func calicoSetKinds() []Kind {
	return []Kind{
		StoredCalicoGlobalNetworkSets, CalicoGlobalNetworkSets, StoredCalicoNetworkSets, CalicoNetworkSets,
	}
}

// The kinds that describe admission controls.
const (
	ValidatingWebhooks Kind = "validatingwebhookconfigurations.admissionregistration.k8s.io"
	ValidatingPolicies Kind = "validatingadmissionpolicies.admissionregistration.k8s.io"
	ValidatingBindings Kind = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
)

// AdmissionKinds are the kinds that describe admission controls, sorted.
func AdmissionKinds() []Kind {
	return []Kind{ValidatingPolicies, ValidatingBindings, ValidatingWebhooks}
}

// The Gatekeeper kinds that say what its rules look up and what it replicates.
const (
	ConstraintTemplates Kind = "constrainttemplates.templates.gatekeeper.sh"
	GatekeeperConfigs   Kind = "configs.config.gatekeeper.sh"
	SyncSets            Kind = "syncsets.syncset.gatekeeper.sh"
)

// The kinds of the Gateway API.
const (
	Gateways      Kind = "gateways.gateway.networking.k8s.io"
	ListenerSets  Kind = "listenersets.gateway.networking.k8s.io"
	XListenerSets Kind = "xlistenersets.gateway.networking.x-k8s.io" // as it was before it was standard
	HTTPRoutes    Kind = "httproutes.gateway.networking.k8s.io"
	GRPCRoutes    Kind = "grpcroutes.gateway.networking.k8s.io"
	TLSRoutes     Kind = "tlsroutes.gateway.networking.k8s.io"
)

// PolicyKinds are the kinds whose objects are policies for pod traffic, or say in
// which order they are consulted, sorted.
func PolicyKinds() []Kind {
	kinds := []Kind{
		AdminNetworkPolicies, BaselineAdminNetworkPolicies,
		CiliumClusterwideNetworkPolicies, CiliumNetworkPolicies, CiliumConfigs,
		AWSClusterNetworkPolicies, ClusterNetworkPolicies,
		StoredCalicoGlobalPolicies, CalicoGlobalNetworkPolicies,
		StoredCalicoNetworkPolicies, NetworkPolicies, CalicoNetworkPolicies,
		StoredCalicoTiers, CalicoTiers,
	}
	slices.Sort(kinds)
	return kinds
}

// ClusterWide reports whether objects of the kind are cluster-scoped. Among the
// kinds that have facts, Namespaces are.
func ClusterWide(kind Kind) bool {
	switch kind {
	case Namespaces, IngressClasses, AWSIngressClassParams, EKSIngressClassParams, ConstraintTemplates, SyncSets,
		CiliumClusterwideNetworkPolicies, CalicoGlobalNetworkPolicies, CalicoTiers,
		StoredCalicoGlobalPolicies, StoredCalicoTiers, ClusterNetworkPolicies, AdminNetworkPolicies,
		BaselineAdminNetworkPolicies, AWSClusterNetworkPolicies, CiliumCIDRGroups, CalicoGlobalNetworkSets,
		StoredCalicoGlobalNetworkSets, ValidatingWebhooks, ValidatingPolicies, ValidatingBindings:
		return true
	}
	return false
}

// KindOf returns the kind of a group and a resource.
func KindOf(group, resource string) Kind {
	if group == "" {
		return Kind(resource)
	}
	return Kind(resource + "." + group)
}

// Resource returns the plural without the group, as in a URL.
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

// Known reports whether the status says how many objects there are, including
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

// ShortLived reports whether objects of a kind are mostly made by controllers and
// pipelines, which replace them by others of other names: pods, and what makes pods
// for something else.
func ShortLived(k Kind) bool {
	switch k {
	case Pods, ReplicaSets, ReplicationControllers, Jobs:
		return true
	}
	return false
}

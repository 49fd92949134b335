package snapshot

import (
	"hash/fnv"
	"strings"
	"time"
)

// Meta is what every fact knows about its object.
type Meta struct {
	Group     string // API group, empty for core
	Kind      string // the object's kind, such as "Ingress"
	Namespace string // empty for cluster-wide kinds
	Name      string
	Created   time.Time // zero where a manifest does not tell
	// Deletion is what is known of the deletion of the object, nil unless it is being
	// deleted.
	Deletion *Deletion
	// HostsSet is the latest time at which the hosts in the object's spec can have
	// received their present value: Created if they never changed since. It is
	// zero if unknown. Set for objects that claim hosts only.
	HostsSet time.Time
	// Creator is the name that the only client that wrote the object gave itself, empty
	// if there are several or if it is unknown. Any client can use any name, so it
	// proves nothing. Set for objects that claim hosts only.
	Creator string
	Part    int      // which of the facts of an object that holds several
	Owner   OwnerKey // the owner that the object itself names
}

// Deletion is what is known of the deletion of an object that is still there.
type Deletion struct {
	At time.Time // zero if unknown
	// Held says for people what the object waits for: its finalizers, and for a
	// Namespace what the namespace controller reports. Empty if unknown.
	Held string
}

// Deleting reports whether the object is being deleted.
func (m *Meta) Deleting() bool { return m.Deletion != nil }

// freshDeletion is how long a deletion usually takes at most.
const freshDeletion = 10 * time.Minute

// Fresh reports whether the object may be gone soon: a deletion that takes longer is
// stuck. One that is in the future, by a clock that is ahead, is fresh; one whose time is
// unknown is not.
func (d *Deletion) Fresh(now time.Time) bool {
	return !d.At.IsZero() && now.Sub(d.At) < freshDeletion
}

// String describes the deletion for people.
func (d *Deletion) String() string {
	text := "being deleted"
	if !d.At.IsZero() {
		text += " since " + d.At.UTC().Format("2006-01-02 15:04:05Z")
	}
	if d.Held != "" {
		text += ", held by " + d.Held
	}
	return text
}

// Ref identifies an object across reads: group, kind, namespace and name. It
// leaves out the UID, since a redeployed object is the same to its owner.
type Ref struct {
	Group, Kind, Namespace, Name string
}

// Ref returns the identity of the object.
func (m *Meta) Ref() Ref { return Ref{m.Group, m.Kind, m.Namespace, m.Name} }

// String returns the reference as people write it: "Ingress team-a/shop".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Compare orders references by namespace, name, kind and group.
func (r Ref) Compare(o Ref) int {
	if c := strings.Compare(r.Namespace, o.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(r.Name, o.Name); c != 0 {
		return c
	}
	if c := strings.Compare(r.Kind, o.Kind); c != 0 {
		return c
	}
	return strings.Compare(r.Group, o.Group)
}

// OwnerKey is an owner that an object's label or annotation names. Anyone who may
// edit the object can write it, so it proves nothing. The zero value means that
// the object names none.
type OwnerKey struct {
	Value      string // what the key says, trimmed
	Key        string // the label's or annotation's key
	Annotation bool   // false: a label
}

// Namespace is the fact of a Namespace.
type Namespace struct {
	Meta
	Labels Labels
	// Annotations are the short ones whose keys look as if they named owners or channels,
	// for people who look for such a key. Rules do not depend on them.
	Annotations Labels
	// Channel is the Slack channel that an annotation of the Namespace asks for,
	// if the config allows such an annotation. It proves nothing.
	Channel string
}

// Ingress is the fact of an Ingress: what it claims, as written.
type Ingress struct {
	Meta
	// Class is the requested class: the older annotation, which takes precedence,
	// or spec.ingressClassName. Empty if neither is set.
	Class string
	// ClassAnnotated is true if the older annotation names the class.
	ClassAnnotated bool
	// Hosts are the claims, in the order of the object: rules, then
	// annotations. An empty host is a rule for every host.
	Hosts []HostClaim
	// TLSHosts are the hosts of spec.tls.
	TLSHosts []string
	// DefaultOnly is true if spec.defaultBackend is set and there are no rules.
	DefaultOnly bool
	// LoadBalancerGroup is the group of Ingresses that share a load balancer with
	// this one, for classes that otherwise create one per Ingress.
	LoadBalancerGroup string
	// OwnLoadBalancer is true if the Ingress asks Cilium for a load balancer of its
	// own. Other controllers do not read that.
	OwnLoadBalancer bool
	// Addresses are those at which the controller serves the Ingress, by its status,
	// normalized. If there are none, they are unknown. Only the subresource
	// ingresses/status writes them, to which the usual roles of tenants have no
	// right: a tenant can't make a proxy look like another one. In manifests they are
	// what whoever wrote or exported the manifest says, as is everything else there.
	Addresses []string
	// SolverLabel, ChallengeOwner and ChallengePaths are the three marks of
	// cert-manager's HTTP01 solver: its label, its owner reference to a
	// Challenge, and that only paths of ACME challenges are routed.
	SolverLabel, ChallengeOwner, ChallengePaths bool
	// Expressions are the regular expressions by which it claims hosts.
	Expressions []HostExpression
	// EntryPoints are those that the Ingress asks Traefik for; none is all the usual ones.
	EntryPoints []string
	// Priority is the one that it asks Traefik for, 0 if none. Otherwise it is the length
	// of the rule that Traefik makes, for every host up to EveryHostRule.
	Priority, EveryHostRule int
	// Unreadable are fields that should name hosts but can't be read.
	Unreadable []UnreadableHosts
}

// UnreadableHosts is a field that should name hosts but can't be read, or names what
// can't be a host.
type UnreadableHosts struct {
	Source HostSource
	Reason string // with the name of the field
	// MayClaim is true if the controller may serve hosts by it. It does not serve what
	// can't be a host.
	MayClaim bool
}

// HostClaim is a host as the object spells it.
type HostClaim struct {
	Host   string
	Source HostSource
	// Set is HostsSet for an annotation.
	Set time.Time
}

// IngressClass is the fact of an IngressClass.
type IngressClass struct {
	Meta
	Controller string
	Default    bool // used by Ingresses that name no class
	// Parameters is the object that configures the class further, zero if there is
	// none.
	Parameters Ref
}

// IngressClassParams is the fact of the parameters of an IngressClass, of the AWS
// controllers.
type IngressClassParams struct {
	Meta
	// Group is the group of all Ingresses of the class, which share a load balancer.
	// Grouped is true if the parameters set one, even an empty one.
	Group   string
	Grouped bool
}

// UID is the identity of an object in a form that takes little memory, zero if a
// manifest tells none. Two objects never share one by accident. Someone who wants
// them to could as well write down the other object's UID, which is no secret.
type UID uint64

// UIDOf returns the UID of an object.
func UIDOf(uid string) UID {
	if uid == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(uid))
	return max(UID(h.Sum64()), 1)
}

// Controller is the owner reference that controls an object, zero if none does.
// Whoever writes the object writes it, so it holds only for an object that exists
// and has this UID.
type Controller struct {
	Group, Kind, Name string
	UID               UID
}

// Is reports whether the reference is to the object. One without a UID is of a
// manifest that no API server has seen, and is taken by its name.
func (c Controller) Is(w *Workload) bool {
	return c.Group == w.Group && c.Kind == w.Kind && c.Name == w.Name && (w.Identity == 0 || w.Identity == c.UID)
}

// Workload is the fact of an object that creates pods: Deployment, StatefulSet,
// DaemonSet, ReplicaSet, ReplicationController, Job or CronJob.
type Workload struct {
	Meta
	Identity    UID
	Controller  Controller
	PodLabels   Labels // of the pod template, not the workload's own
	HostNetwork bool   // of the pod template
	// ServiceAccount is the name of the account that the pod template names, empty
	// for the one called DefaultServiceAccount.
	ServiceAccount string
	// Ports are those that the containers of a Deployment, StatefulSet or DaemonSet
	// declare, in their order. Declaring a port opens nothing.
	Ports    []PortRange
	Finished bool   // a Job that completed or failed
	UID      string // of a Job, whose pods have it in a label; else empty
}

// Pod is the fact of a Pod.
type Pod struct {
	Meta
	Controller  Controller
	Labels      Labels
	HostNetwork bool
	// ServiceAccount is the name of its account, empty for DefaultServiceAccount.
	ServiceAccount string
	Finished       bool // phase Succeeded or Failed: it has no network any more
	// Pending is true of a pod that was not seen to run, and may never. Its node proves
	// nothing: whoever creates a pod may name any node.
	Pending bool
}

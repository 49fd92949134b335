package audit

import (
	"fmt"
	"sync"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// sharedLabel marks a Namespace whose objects have owners of their own. Only
// who may edit the Namespace can set it, which tenants may not.
const sharedLabel = "eventuallytrue.dev/shared"

// owners says who owns an object, in the order of the registry, the owner key
// on the Namespace, the owner key on the object. It remembers what the first
// two say of each namespace, and may be asked by several rules at once.
type owners struct {
	config *config.Config
	snap   *snapshot.Snapshot

	mu     sync.Mutex
	byName map[string]namespaceOwner
}

// namespaceOwner is who owns a namespace, before any object is looked at.
type namespaceOwner struct {
	owner    rules.Owner
	registry bool
	shared   bool
	channel  string // as the Namespace names it
}

func newOwners(c *config.Config, s *snapshot.Snapshot) *owners {
	return &owners{config: c, snap: s, byName: map[string]namespaceOwner{}}
}

// of returns the owner of an object, or of a Namespace.
func (o *owners) of(m *snapshot.Meta) rules.Owner {
	name := m.Namespace
	switch {
	case m.Kind == "Namespace" && name == "":
		return o.namespace(m.Name).owner
	case name == "":
		return clusterWide(m)
	}
	ns := o.namespace(name)
	own := m.Owner
	switch {
	case own.Value == "" || own.Value == ns.owner.Name:
		return ns.owner
	case !ns.owner.Known(), ns.shared && !ns.registry:
		return rules.Owner{Name: own.Value, Namespace: name, Source: sourceOf(own, "the "+m.Kind)}
	case ns.shared:
		return ns.owner
	}
	// Whoever may edit an object can sign it with any name. Were it believed, a
	// tenant could hide a stolen host behind the name of its victim.
	owner := ns.owner
	owner.Contradicts = own
	return owner
}

// clusterWide returns the owner of an object that is in no namespace: whoever it
// names itself, since only the platform can write such objects.
func clusterWide(m *snapshot.Meta) rules.Owner {
	if m.Owner.Value == "" {
		return rules.Owner{}
	}
	return rules.Owner{Name: m.Owner.Value, Source: sourceOf(m.Owner, "the "+m.Kind)}
}

// namespace returns who owns a namespace. It need not be in the snapshot: the
// registry goes by its name.
func (o *owners) namespace(name string) namespaceOwner {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.byName[name]; ok {
		return known
	}
	n := o.decide(name)
	o.byName[name] = n
	return n
}

func (o *owners) decide(name string) namespaceOwner {
	n := namespaceOwner{owner: rules.Owner{Namespace: name}}
	var labels snapshot.Labels
	ns := o.snap.Namespace(name)
	if ns != nil {
		labels, n.channel = ns.Labels, ns.Channel
	}
	label, _ := labels.Get(sharedLabel)
	n.shared = label == "true" || o.config.Owners.Shared(name)
	if team, by := o.config.Owners.ForNamespace(name, labels); team != nil {
		n.owner.Name, n.owner.Source, n.registry = team.Name, by, true
		return n
	}
	if ns != nil && ns.Owner.Value != "" {
		n.owner.Name, n.owner.Source = ns.Owner.Value, sourceOf(ns.Owner, "the Namespace")
	}
	return n
}

// told returns who is told of what an owner has. What nobody is known to own goes
// to the fallback owner; without one, and where its Namespace names a channel that
// may be used, the namespace stands for its owner, or the cluster for that of an
// object in none.
func (o *owners) notified(owner rules.Owner) string {
	switch {
	case owner.Known():
		return owner.Name
	case o.config.Owners.Fallback != "" && !o.reachable(owner.Namespace):
		return o.config.Owners.Fallback
	case owner.Namespace == "":
		return "cluster"
	}
	return "namespace " + owner.Namespace
}

// reachable reports whether a Namespace names a channel that may be used.
func (o *owners) reachable(namespace string) bool {
	if namespace == "" {
		return false
	}
	channel := o.namespace(namespace).channel
	_, allowed := o.config.Slack.ChannelFrom.Channel(channel)
	return channel != "" && allowed
}

func sourceOf(key snapshot.OwnerKey, where string) string {
	sort := "label"
	if key.Annotation {
		sort = "annotation"
	}
	return fmt.Sprintf("%s %s of %s", sort, key.Key, where)
}

package audit

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// sharedLabel marks a Namespace whose objects have their own owners. Only someone
// who can edit the Namespace can set it, which tenants cannot.
const sharedLabel = "eventuallytrue.dev/shared"

// owners decides who owns an object: the registry first, then the owner key on the
// Namespace, then the owner key on the object. It caches the first two for each
// namespace. It is safe for concurrent use by several rules.
type owners struct {
	config *config.Config
	snap   *snapshot.Snapshot

	mu     sync.Mutex
	byName map[string]namespaceOwner

	ofNamespaces sync.Once
	byNamespace  map[string]bool // the owners of all namespaces
}

// namespaceOwner is the owner of a namespace, before any object in it is considered.
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
		// The label that shares a Namespace does not say whose it is. The config, which lists
		// a namespace as shared, says that what its objects name is to be believed.
		return rules.Owner{
			Name: own.Value, Namespace: name, Source: sourceOf(own, "the "+m.Kind),
			Unverified: !ns.owner.Known() && !o.config.Owners.Shared(name),
		}
	case ns.shared:
		return ns.owner
	}
	// Anyone who can edit an object can give it any owner. If that were trusted, a
	// tenant could hide a stolen host behind the name of its victim.
	owner := ns.owner
	owner.Contradicts = own
	return owner
}

// clusterWide returns the owner of a cluster-scoped object: the one it names itself,
// since only the platform can write such objects.
func clusterWide(m *snapshot.Meta) rules.Owner {
	if m.Owner.Value == "" {
		return rules.Owner{}
	}
	return rules.Owner{Name: m.Owner.Value, Source: sourceOf(m.Owner, "the "+m.Kind)}
}

// namespace returns the owner of a namespace. The namespace need not be in the
// snapshot, because the registry matches by name.
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

// notified returns who is notified of the findings of an owner. Findings without a
// known owner go to the fallback owner. If there is no fallback, or the Namespace
// names a channel that is allowed, the namespace itself takes the place of an owner;
// for an object outside any namespace, the cluster does.
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

// reachable reports whether a Namespace names a channel that is allowed.
func (o *owners) reachable(namespace string) bool {
	if namespace == "" {
		return false
	}
	channel := o.namespace(namespace).channel
	_, allowed := o.config.Slack.ChannelFrom.Channel(channel)
	return channel != "" && allowed
}

func sourceOf(key snapshot.OwnerKey, where string) string {
	from := "label"
	if key.Annotation {
		from = "annotation"
	}
	return fmt.Sprintf("%s %s of %s", from, key.Key, where)
}

// NamespaceOwner is the owner of a namespace, before any object in it is considered.
type NamespaceOwner struct {
	Namespace string
	// Owner is who is notified of findings there, as in Finding.Owners: the owner,
	// the fallback owner in its place, or the namespace itself.
	Owner string
	// By is what decided: the registry entry or the owner key of the Namespace, as
	// in rules.Owner.Source, or ByFallback or ByNone.
	By string
	// Registry is true if a team in the config claims the namespace, Shared if the
	// keys of its objects take precedence over the key of the Namespace.
	Registry, Shared bool
	// Channel is the channel that the Namespace names in the annotation of
	// slack.channelFrom, without #. Unless it is Allowed it is arbitrary text, and
	// nothing may be sent there.
	Channel string
	Allowed bool
}

// What decides if neither the registry nor the Namespace names an owner.
const (
	ByFallback = "fallback"
	ByNone     = "none"
)

// Ownership returns the owner of each namespace of a snapshot, sorted by namespace.
// If a Namespace could not be read, only its name counts.
func Ownership(snap *snapshot.Snapshot, c *config.Config) []NamespaceOwner {
	return newOwners(c, snap).all()
}

// all returns the owner of each namespace of the snapshot, sorted by namespace.
func (o *owners) all() []NamespaceOwner {
	var out []NamespaceOwner
	for _, name := range o.snap.NamespaceNames() {
		n := o.namespace(name)
		row := NamespaceOwner{
			Namespace: name, Owner: o.notified(n.owner), By: n.owner.Source, Registry: n.registry, Shared: n.shared,
		}
		switch {
		case n.owner.Known():
		case row.Owner == o.config.Owners.Fallback:
			row.By = ByFallback
		default:
			row.By = ByNone
		}
		if n.channel != "" {
			row.Channel, row.Allowed = o.config.Slack.ChannelFrom.Channel(n.channel)
		}
		out = append(out, row)
	}
	return out
}

// named returns the owners of namespaces and those of the config.
func named(ownership []NamespaceOwner, c *config.Config) map[string]bool {
	out := map[string]bool{"cluster": true}
	for _, n := range ownership {
		out[n.Owner] = true
	}
	for _, t := range c.Owners.Teams {
		out[t.Name] = true
	}
	return out
}

// channelAdvisories reports the Namespaces whose channel is not allowed.
func channelAdvisories(owners []NamespaceOwner, c *config.Config) []Advisory {
	var out []Advisory
	for _, o := range owners {
		if o.Channel == "" || o.Allowed {
			continue
		}
		out = append(out, Advisory{
			Rule:    "config",
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: o.Namespace},
			Owners:  []string{o.Owner},
			Message: fmt.Sprintf("annotation %s of the Namespace names channel %s, which slack.channelFrom does not allow: no messages are sent there",
				c.Slack.ChannelFrom.NamespaceAnnotation, o.Channel),
		})
	}
	return out
}

// Destination is where an owner is notified. The zero value is nowhere.
type Destination struct {
	// Channel is the ID or name of a channel, or WebhookFile is the path of the file
	// with the URL of an incoming webhook.
	Channel     string
	WebhookFile string
	// From is where in the config or the cluster it comes from.
	From DestinationSource
}

// DestinationSource is where a destination comes from.
type DestinationSource string

// The sources of a destination.
const (
	FromRegistry   DestinationSource = "registry"   // the owner's own entry
	FromAnnotation DestinationSource = "annotation" // of the Namespace
	FromFallback   DestinationSource = "fallback"   // the entry of the fallback owner
	FromNone       DestinationSource = "none"
)

// DestinationOf returns where the owner of a namespace is notified in Slack. The
// registry comes first, so that someone who can annotate a Namespace cannot redirect
// a team's messages; then the Namespace, then the fallback owner.
func DestinationOf(n NamespaceOwner, c *config.Config) Destination {
	if team := c.Owners.Team(n.Owner); n.By != ByFallback && team != nil && team.Slack.HasDestination() {
		return Destination{string(team.Slack.Channel), team.Slack.WebhookFile, FromRegistry}
	}
	if n.Allowed {
		return Destination{Channel: n.Channel, From: FromAnnotation}
	}
	if team := c.Owners.Team(c.Owners.Fallback); team != nil && team.Slack.HasDestination() {
		return Destination{string(team.Slack.Channel), team.Slack.WebhookFile, FromFallback}
	}
	return Destination{From: FromNone}
}

// OwnerRows are, by owner, the namespaces whose annotation names the owner's channel.
type OwnerRows map[string]NamespaceOwner

// Of returns the namespace that names an owner's channel, or else a row with the owner
// alone.
func (r OwnerRows) Of(owner string) NamespaceOwner {
	if row, named := r[owner]; named {
		return row
	}
	return NamespaceOwner{Owner: owner}
}

// ChannelNamespaces returns, by owner, the namespace whose annotation names the
// owner's channel. If several do, the first by name counts for all of the owner's
// namespaces.
func ChannelNamespaces(ownership []NamespaceOwner) OwnerRows {
	byOwner := OwnerRows{}
	for _, n := range ownership {
		if _, known := byOwner[n.Owner]; !known && n.Allowed && n.By != ByFallback {
			byOwner[n.Owner] = n
		}
	}
	return byOwner
}

// fewOwners is a number of owners for which every store has room.
const fewOwners = 20

// ranks ranks the owners of a violation, sorted by name, if they are not few.
func (o *owners) ranks(v rules.Violation) []OwnerRank {
	byName := map[string]OwnerRank{}
	for _, owner := range v.Owners {
		rank := OwnerRank{Owner: o.notified(owner), Right: o.right(owner)}
		if known, ok := byName[rank.Owner]; ok {
			rank.Right = min(rank.Right, known.Right)
		}
		byName[rank.Owner] = rank
	}
	if len(byName) <= fewOwners {
		return nil
	}
	for _, object := range v.Objects {
		name := o.notified(rules.Owner{Name: object.Owner, Namespace: object.Namespace})
		rank, ok := byName[name]
		if ok && !object.Created.IsZero() && (rank.Since.IsZero() || object.Created.Before(rank.Since)) {
			rank.Since = object.Created
			byName[name] = rank
		}
	}
	out := make([]OwnerRank, 0, len(byName))
	for _, rank := range byName {
		out = append(out, rank)
	}
	slices.SortFunc(out, func(a, b OwnerRank) int { return strings.Compare(a.Owner, b.Owner) })
	return out
}

// right returns what makes someone the owner of an object.
func (o *owners) right(owner rules.Owner) OwnerRight {
	switch {
	// Only the platform can write what is in no namespace.
	case !owner.Known(), owner.Namespace == "", o.namespace(owner.Namespace).owner.Name == owner.Name:
		return RightNamespace
	case o.config.Owners.Team(owner.Name) != nil, o.ownsNamespace(owner.Name):
		return RightTeam
	}
	return RightObject
}

// ownsNamespace reports whether someone owns any namespace of the cluster.
func (o *owners) ownsNamespace(name string) bool {
	o.ofNamespaces.Do(func() {
		o.byNamespace = map[string]bool{}
		for _, ns := range o.snap.NamespaceNames() {
			o.byNamespace[o.namespace(ns).owner.Name] = true
		}
	})
	return o.byNamespace[name]
}

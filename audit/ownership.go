package audit

import (
	"fmt"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// NamespaceOwner says who owns a namespace, before any object in it is looked at.
type NamespaceOwner struct {
	Namespace string
	// Owner is who is told of what is wrong there, as Finding.Owners names it: the
	// owner, the fallback owner in its place, or the namespace itself.
	Owner string
	// By is what decided: the claim of the registry, or the owner key of the
	// Namespace, as rules.Owner.Source has them; ByFallback or ByNothing.
	By string
	// Registry is true where a team of the config claims the namespace, and Shared
	// where the keys of its objects win over that of the Namespace.
	Registry, Shared bool
	// Channel is the channel that the Namespace names by the annotation of
	// slack.channelFrom, without #. Only if it is Allowed may anything be sent
	// there; else it is any text.
	Channel string
	Allowed bool
}

// What decides where neither the registry nor the Namespace names an owner.
const (
	ByFallback = "fallback"
	ByNone     = "none"
)

// Ownership says who owns each namespace of a snapshot, sorted by namespace. Of a
// Namespace that could not be read only its name counts.
func Ownership(snap *snapshot.Snapshot, c *config.Config) []NamespaceOwner {
	return newOwners(c, snap).all()
}

// all returns who owns each namespace of the snapshot, sorted by namespace.
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

// channelAdvisories names the Namespaces whose channel may not be used.
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
			Message: fmt.Sprintf("annotation %s of the Namespace names channel %s, which slack.channelFrom does not allow: nothing is sent there",
				c.Slack.ChannelFrom.NamespaceAnnotation, o.Channel),
		})
	}
	return out
}

// Destination is where an owner is told. The zero value is nowhere.
type Destination struct {
	// Channel is the ID or the name of a channel, or WebhookFile is the path of
	// the file with the URL of an incoming webhook.
	Channel     string
	WebhookFile string
	// From says where the config or the cluster has it from.
	From DestinationSource
}

// DestinationSource is where a destination comes from.
type DestinationSource string

// Where a destination comes from.
const (
	FromRegistry   DestinationSource = "registry"   // the owner's own entry
	FromAnnotation DestinationSource = "annotation" // of the Namespace
	FromFallback   DestinationSource = "fallback"   // the entry of the fallback owner
	FromNone       DestinationSource = "none"
)

// ChannelNamespaces returns the namespaces by which owners have a channel, by owner: of
// several that name one the first by name, whatever namespace it is about.
func ChannelNamespaces(ownership []NamespaceOwner) map[string]NamespaceOwner {
	byOwner := map[string]NamespaceOwner{}
	for _, n := range ownership {
		if _, known := byOwner[n.Owner]; !known && n.Allowed && n.By != ByFallback {
			byOwner[n.Owner] = n
		}
	}
	return byOwner
}

// DestinationOf returns where the owner of a namespace is told in Slack. The
// registry comes first, since whoever can annotate a Namespace must not lead a
// team's messages away from where the team looks; then the Namespace, then the
// fallback owner.
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

package report

import (
	"fmt"
	"io"

	"github.com/eventuallytrue/audit/audit"
)

// OwnerList is what a program reads of who owns which namespace.
type OwnerList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"` // OwnerList
	Cluster    string           `json:"cluster"`
	Namespaces []NamespaceOwner `json:"namespaces"` // by namespace
}

// NamespaceOwner is who owns a namespace.
type NamespaceOwner struct {
	Namespace string `json:"namespace"`
	// Owner is who is told, as the owners of a finding are named.
	Owner string `json:"owner"`
	// By is the claim or key that decided, fallback, or none.
	By       string `json:"by"`
	Registry bool   `json:"registry"` // a team of the config claims it
	Shared   bool   `json:"shared"`   // the keys of objects in it win
	// Channel is the channel that the Namespace names, if it may.
	Channel string `json:"channel,omitempty"`
	Allowed bool   `json:"channelAllowed,omitempty"`
	Told    Told   `json:"told"`
}

// Told is where an owner is told in Slack.
type Told struct {
	From        string `json:"from"` // registry, annotation, fallback, nobody or reportOnly
	Channel     string `json:"channel,omitempty"`
	WebhookFile string `json:"webhookFile,omitempty"`
}

// WriteOwners writes as JSON or YAML who owns each namespace, and where they are
// told, which has as many items.
func WriteOwners(w io.Writer, format Format, cluster string, owners []audit.NamespaceOwner, places []audit.Destination) error {
	list := OwnerList{APIVersion: APIVersion, Kind: "OwnerList", Cluster: cluster, Namespaces: []NamespaceOwner{}}
	for i, o := range owners {
		list.Namespaces = append(list.Namespaces, NamespaceOwner{
			Namespace: o.Namespace, Owner: o.Owner, By: o.By, Registry: o.Registry, Shared: o.Shared,
			Channel: o.Channel, Allowed: o.Allowed,
			Told: Told{From: string(places[i].From), Channel: places[i].Channel, WebhookFile: places[i].WebhookFile},
		})
	}
	data, err := encoded(format, list)
	if err != nil {
		return fmt.Errorf("encode owners: %w", err)
	}
	_, err = w.Write(data)
	return err
}

package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// clusterPeer is a peer or a subject: one of its fields is set.
type clusterPeer struct {
	Namespaces *clusterSelector `json:"namespaces"`
	Pods       *struct {
		NamespaceSelector clusterSelector `json:"namespaceSelector"`
		PodSelector       clusterSelector `json:"podSelector"`
	} `json:"pods"`
	Networks []string `json:"networks"`

	fields int // set in the object, be they known or not
}

// UnmarshalJSON also counts the fields.
func (p *clusterPeer) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &all); err != nil {
		return err
	}
	type plain clusterPeer
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, (*plain)(p)); err != nil {
		return err
	}
	p.fields = len(all)
	return nil
}

// clusterSelector is a label selector. Early versions of the API had more than
// labels in its place, such as namespaces that share a label with the subject.
type clusterSelector struct {
	labels  metav1.LabelSelector
	unknown bool // it has fields that are not known here
}

// UnmarshalJSON also looks for unknown fields.
func (s *clusterSelector) UnmarshalJSON(data []byte) error {
	unknown, err := kjson.UnmarshalStrict(data, &s.labels)
	s.unknown = len(unknown) > 0
	return err
}

// errOneField is what the API server says of a peer or a subject that is not
// exactly one thing.
var errOneField = errors.New("it must have exactly one field")

// clusterSubject returns the pods that a policy is for. No pod in the host's
// network is among them.
func (in *Ingester) clusterSubject(p *clusterPeer) (snapshot.Subject, error) {
	if p.fields != 1 {
		return nil, errOneField
	}
	var peers snapshot.Peers
	err := in.clusterPeer(&peers, p)
	if err == nil && len(peers.Pods) == 0 {
		err = errors.New("what it selects is not known here")
	}
	return peers.Pods, err
}

// clusterPeer adds a peer to others. Nodes and domain names are left out, since
// they never make up all pods or the whole world, and so is what is not known
// here. The API would have an implementation deny everything for a peer that it
// does not know, but whether it does is not to be seen.
func (in *Ingester) clusterPeer(to *snapshot.Peers, p *clusterPeer) error {
	if p.fields != 1 {
		return errOneField
	}
	switch {
	case p.Namespaces != nil:
		return in.clusterPods(to, p.Namespaces, &clusterSelector{})
	case p.Pods != nil:
		return in.clusterPods(to, &p.Pods.NamespaceSelector, &p.Pods.PodSelector)
	}
	for _, network := range p.Networks {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return fmt.Errorf("networks: %w", err)
		}
		to.CIDRs = append(to.CIDRs, snapshot.CIDR{Prefix: prefix.Masked()})
		// "Cluster-internal traffic will be checked against the rule as well."
		to.CIDRsMatchPods = true
	}
	return nil
}

func (in *Ingester) clusterPods(to *snapshot.Peers, namespaces, pods *clusterSelector) error {
	if namespaces.unknown || pods.unknown {
		return nil
	}
	var peer snapshot.PodPeer
	var err error
	if peer.Namespaces, err = in.selector(&namespaces.labels); err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}
	if peer.Pods, err = in.selector(&pods.labels); err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	to.Pods = append(to.Pods, peer)
	return nil
}

package calico

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// rule is a rule of a policy. A connection must meet all that it asks for.
// The fields of ICMP are left out: what they narrow is no TCP, UDP or SCTP.
type rule struct {
	Action      string              `json:"action"`
	IPVersion   *int                `json:"ipVersion"`
	Protocol    *intstr.IntOrString `json:"protocol"`
	NotProtocol *intstr.IntOrString `json:"notProtocol"`
	Source      entityRule          `json:"source"`
	Destination entityRule          `json:"destination"`
	HTTP        *struct {
		Methods []string          `json:"methods"`
		Paths   []json.RawMessage `json:"paths"`
	} `json:"http"`
}

// entityRule is what a rule asks of one end of a connection.
type entityRule struct {
	Nets              []string `json:"nets"`
	NotNets           []string `json:"notNets"`
	Selector          string   `json:"selector"`
	NotSelector       string   `json:"notSelector"`
	NamespaceSelector string   `json:"namespaceSelector"`
	Services          *struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"services"`
	ServiceAccounts *struct {
		Names    []string `json:"names"`
		Selector string   `json:"selector"`
	} `json:"serviceAccounts"`
	Domains  []string             `json:"domains"` // of Calico Enterprise
	Ports    []intstr.IntOrString `json:"ports"`
	NotPorts []intstr.IntOrString `json:"notPorts"`
}

// decision returns the rule in the common form. The peer is the source of an
// incoming connection and the destination of an outgoing one; the other end is a
// pod that the policy selects.
func (r *rule) decision(d snapshot.Direction, namespace string) (ruleDraft, error) {
	var out ruleDraft
	var err error
	if out.rule.Action, err = r.action(); err != nil {
		return out, err
	}
	if r.IPVersion != nil && *r.IPVersion != 4 && *r.IPVersion != 6 {
		return out, fmt.Errorf("ipVersion: there is no version %d", *r.IPVersion)
	}
	if err := r.ports(&out); err != nil {
		return out, err
	}
	peer, own, peerName, ownName := &r.Source, &r.Destination, "source", "destination"
	if d == snapshot.DirectionEgress {
		peer, own, peerName, ownName = own, peer, ownName, peerName
	}
	if err := r.peers(&out, peer, namespace); err != nil {
		return out, fmt.Errorf("%s: %w", peerName, err)
	}
	if err := r.ownSide(&out, own); err != nil {
		return out, fmt.Errorf("%s: %w", ownName, err)
	}
	// Whatever the rule does, it does it to some requests only.
	if r.HTTP != nil && len(r.HTTP.Methods)+len(r.HTTP.Paths) > 0 {
		out.rule.Narrow = true
	}
	return out, nil
}

func (r *rule) action() (snapshot.Action, error) {
	switch r.Action {
	case "Allow":
		return snapshot.Allow, nil
	case "Deny":
		return snapshot.Deny, nil
	case "Pass":
		return snapshot.Pass, nil
	case "Log": // decides nothing, and is left out later
		return snapshot.Pass, nil
	}
	return 0, fmt.Errorf("there is no action %q", r.Action)
}

// ownSide takes in what the rule asks of the end that is a pod of its policy.
// The ports there are those of the connection, which ports takes in.
func (r *rule) ownSide(out *ruleDraft, own *entityRule) error {
	e, err := own.endpoints()
	switch {
	case errors.Is(err, errTooComplex):
		out.doubt()
	case err != nil:
		return err
	case own.selects() || own.NotSelector != "":
		out.own, out.text = e, own.key()
	}
	nets, err := r.nets(own)
	if err != nil {
		return err
	}
	switch {
	case !nets.given || nets.whole(out.rule.Action):
	case len(own.Nets) == 0 || nets.mayBePool():
		// The pods' own addresses: nobody knows them here, but a rule that is
		// about none of its policy's pods would be pointless.
		out.doubt()
	default:
		// A few addresses are those of a few pods, and of none as a whole.
		out.rule.Narrow = true
	}
	if own.Services != nil || len(own.Domains) > 0 {
		out.doubt()
	}
	return nil
}

package calico

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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

// ruleDraft is a rule and which of the pods that its policy selects it is
// about. A rule for incoming connections may ask something of their destination,
// and one for outgoing connections of their source.
type ruleDraft struct {
	rule snapshot.Rule
	own  *expr  // nil: all of them
	text string // what own was parsed from
}

// doubt is for a condition that nothing here can check. It is taken to hold where
// that opens and not to hold where that closes: what is open must not be called
// closed.
func (d *ruleDraft) doubt() {
	if d.rule.Action == snapshot.Deny {
		d.rule.Narrow = true
	}
}

// selects reports whether the entity asks for endpoints: whatever is outside the
// cluster is then left out.
func (e *entityRule) selects() bool {
	return e.Selector != "" || e.NamespaceSelector != "" || e.selectsAccounts()
}

func (e *entityRule) selectsAccounts() bool {
	return e.ServiceAccounts != nil && (e.ServiceAccounts.Selector != "" || len(e.ServiceAccounts.Names) > 0)
}

// key returns a string that two entities share if they ask for the same
// endpoints.
func (e *entityRule) key() string {
	parts := []string{e.Selector, e.NotSelector, e.NamespaceSelector}
	if e.selectsAccounts() {
		parts = append(append(parts, e.ServiceAccounts.Selector), e.ServiceAccounts.Names...)
	}
	return strings.Join(parts, "\x00")
}

// within returns the namespace whose pods the entity of a policy is about; empty
// for those of any. As soon as a rule of a NetworkPolicy says anything of labels,
// and be it in the negative, it is about the policy's own namespace, unless it
// selects namespaces itself (updateprocessors/rules.go, getEndpointSelector).
func (e *entityRule) within(namespace string) string {
	if e.NamespaceSelector != "" {
		return ""
	}
	return namespace
}

// endpoints returns what the entity asks of the labels of a pod.
func (e *entityRule) endpoints() (*expr, error) {
	selector, err := parseFields([]selectorField{{"selector", e.Selector, endpointLabels}})
	if err != nil {
		return nil, err
	}
	if selector.hasGlobal() {
		return nil, errMisplacedGlobal
	}
	fields := []selectorField{{"namespaceSelector", e.NamespaceSelector, namespaceLabels}}
	if e.selectsAccounts() {
		fields = append(fields, selectorField{"serviceAccounts.selector", e.ServiceAccounts.Selector, accountLabels})
	}
	all, err := parseFields(fields)
	if err != nil {
		return nil, err
	}
	all.of = append(all.of, selector)
	if e.selectsAccounts() && len(e.ServiceAccounts.Names) > 0 {
		name := snapshot.Requirement{Key: labelName, Op: snapshot.In, Values: e.ServiceAccounts.Names}
		all.of = append(all.of, &expr{op: opLabel, scope: accountLabels, label: name})
	}
	if e.NotSelector != "" {
		not, err := parseFields([]selectorField{{"notSelector", e.NotSelector, endpointLabels}})
		if err != nil {
			return nil, err
		}
		all.of = append(all.of, &expr{op: opNot, of: []*expr{not}})
	}
	return all, nil
}

// peers takes in what the rule asks of the end that is not a pod of its policy.
func (r *rule) peers(out *ruleDraft, peer *entityRule, namespace string) error {
	var terms termSet
	endpoints, err := peer.endpoints()
	if err == nil {
		terms, err = endpoints.terms(false)
	}
	switch {
	case errors.Is(err, errTooComplex):
		// Calico knows whom it stands for, and it may be every pod.
		terms = everyPod()
		out.doubt()
	case err != nil:
		return err
	}
	nets, err := r.nets(peer)
	if err != nil {
		return err
	}
	to := &out.rule.Peers
	labels := peer.selects() || peer.NotSelector != ""
	switch {
	case peer.Services != nil:
		// The endpoints of one Service are a few pods or addresses.
		out.rule.Narrow = true
	case len(peer.Domains) > 0 && !nets.given && !labels:
		// So are the addresses that a name was resolved to. Beside others they
		// are taken to add to them, as the two would hardly share an address.
		out.rule.Narrow = true
	case !labels && !nets.given:
		to.Everyone = true
	case !labels:
		// Calico compares addresses, and those of pods are addresses, too.
		to.CIDRs, to.CIDRsMatchPods = nets.blocks, true
	case peer.selects() || namespace != "":
		to.Pods = terms.pods(peer.within(namespace))
		if nets.given && !nets.whole(out.rule.Action) {
			// Selected pods, and of those the ones in a range: how many that is
			// cannot be told from here.
			out.rule.Narrow = true
		}
	default:
		// notSelector alone, in a GlobalNetworkPolicy, takes some endpoints out of
		// everything that has an address.
		to.Internet, to.CIDRs = !nets.given, nets.blocks
		if !nets.given || nets.whole(out.rule.Action) {
			to.Pods = terms.pods("")
		}
	}
	return nil
}

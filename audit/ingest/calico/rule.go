package calico

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// rule is a rule of a policy. A connection must meet all of its conditions. The fields of
// ICMP are left out, because they do not narrow TCP, UDP or SCTP.
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

// entityRule holds the conditions of a rule on one end of a connection.
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

// decision returns the rule in the common form. The peer is the source for ingress and the
// destination for egress; the other end is a pod that the policy selects.
func (r *rule) decision(d snapshot.Direction, namespace string) (ruleDraft, error) {
	var out ruleDraft
	var err error
	if out.rule.Action, err = r.action(); err != nil {
		return out, err
	}
	if r.IPVersion != nil && *r.IPVersion != 4 && *r.IPVersion != 6 {
		return out, fmt.Errorf("ipVersion: %d is neither 4 nor 6", *r.IPVersion)
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
	// The rule applies to some requests only.
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
	case "Log": // is left out later
		return snapshot.Pass, nil
	}
	return 0, fmt.Errorf("unknown action %q", r.Action)
}

// ownSide adds the conditions on the end that is a pod of the rule's policy, except the
// ports, which belong to the connection.
func (r *rule) ownSide(out *ruleDraft, own *entityRule) error {
	must, not, err := own.selectors()
	switch {
	case errors.Is(err, errTooComplex):
		out.doubt()
	case err != nil:
		return err
	case own.selects() || own.NotSelector != "":
		out.own, out.text = must.except(not), own.key()
	}
	nets, err := r.nets(own)
	if err != nil {
		return err
	}
	switch {
	case !nets.given || nets.whole(out.rule.Action):
	case len(own.Nets) == 0 || nets.mayBePool():
		// The addresses of the pods are not known here, but a rule that matches none
		// of its policy's pods would be pointless.
		out.doubt()
	default:
		// A few addresses cover a few pods.
		out.rule.Narrow = true
	}
	if own.Services != nil || len(own.Domains) > 0 {
		out.doubt()
	}
	return nil
}

// ruleDraft is a rule, and the condition on the policy's own pods under which it applies.
// An ingress rule may have conditions on the destination, and an egress rule on the
// source.
type ruleDraft struct {
	rule snapshot.Rule
	own  *expr  // nil for all pods of the policy
	text string // own as it was written
}

// doubt records a condition that cannot be checked. It is assumed to hold for a rule that
// allows and not to hold for one that denies, so that an open pod is not reported as
// closed.
func (d *ruleDraft) doubt() {
	if d.rule.Action == snapshot.Deny {
		d.rule.Narrow = true
	}
}

// selects reports whether the entity selects endpoints, which leaves out everything
// outside the cluster.
func (e *entityRule) selects() bool {
	return e.Selector != "" || e.NamespaceSelector != "" || e.selectsAccounts()
}

func (e *entityRule) selectsAccounts() bool {
	return e.ServiceAccounts != nil && (e.ServiceAccounts.Selector != "" || len(e.ServiceAccounts.Names) > 0)
}

// key returns a string that is equal for two entities with the same selectors.
func (e *entityRule) key() string {
	parts := []string{e.Selector, e.NotSelector, e.NamespaceSelector}
	if e.selectsAccounts() {
		parts = append(append(parts, e.ServiceAccounts.Selector), e.ServiceAccounts.Names...)
	}
	return strings.Join(parts, "\x00")
}

// within returns the namespace that limits the pods of the entity, or the empty string for
// all namespaces. A rule of a NetworkPolicy with any label selector, even a negative one,
// is limited to the policy's own namespace, unless it selects namespaces itself
// (updateprocessors/rules.go, getEndpointSelector).
func (e *entityRule) within(namespace string) string {
	if e.NamespaceSelector != "" {
		return ""
	}
	return namespace
}

// selectors returns the conditions of the entity on the labels of an endpoint: that it must
// meet one selector, and not meet the other, which is nil if there is none.
func (e *entityRule) selectors() (must, not *expr, err error) {
	selector, err := parseFields([]selectorField{{"selector", e.Selector, endpointLabels}})
	if err != nil {
		return nil, nil, err
	}
	if selector.hasGlobal() {
		return nil, nil, errMisplacedGlobal
	}
	fields := []selectorField{{"namespaceSelector", e.NamespaceSelector, namespaceLabels}}
	if e.selectsAccounts() {
		fields = append(fields, selectorField{"serviceAccounts.selector", e.ServiceAccounts.Selector, accountLabels})
	}
	must, err = parseFields(fields)
	if err != nil {
		return nil, nil, err
	}
	must.of = append(must.of, selector)
	if e.selectsAccounts() && len(e.ServiceAccounts.Names) > 0 {
		names := slices.Sorted(slices.Values(e.ServiceAccounts.Names))
		name := snapshot.Requirement{Key: labelName, Op: snapshot.In, Values: slices.Compact(names)}
		must.of = append(must.of, &expr{op: opLabel, scope: accountLabels, label: name})
	}
	if e.NotSelector != "" {
		if not, err = parseFields([]selectorField{{"notSelector", e.NotSelector, endpointLabels}}); err != nil {
			return nil, nil, err
		}
	}
	return must, not, nil
}

// except returns the conjunction of a selector and the negation of another, which may be
// nil.
func (e *expr) except(not *expr) *expr {
	if not == nil {
		return e
	}
	return &expr{op: opAnd, of: []*expr{e, {op: opNot, of: []*expr{not}}}}
}

// peers adds the conditions on the end that is not a pod of the rule's policy.
func (r *rule) peers(out *ruleDraft, peer *entityRule, namespace string) error {
	selected, err := peer.selected(peer.within(namespace))
	switch {
	case errors.Is(err, errTooComplex):
		// It may select everything.
		selected = selectedPeers{pods: everything(), sets: []snapshot.Selector{{}}}
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
		// So are the addresses that a name resolves to. Beside other nets they are
		// assumed to add to those, because the two will hardly share an address.
		out.rule.Narrow = true
	case !labels && !nets.given:
		to.Everyone = true
	case !labels:
		// Calico compares addresses, including those of pods.
		to.CIDRs, to.CIDRsMatchPods = nets.blocks, true
	case peer.selects() || namespace != "":
		to.Pods = selected.pods.pods(peer.within(namespace))
		sets := snapshot.SetPeer{Engine: snapshot.CalicoSets, Labels: selected.sets}
		if nets.given && !nets.whole(out.rule.Action) {
			// It is unknown which of the selected pods are in the ranges.
			to.Pods = nil
			sets.Within = nets.blocks
		}
		if len(sets.Labels) > 0 {
			to.Sets, to.CIDRsMatchPods = []snapshot.SetPeer{sets}, true
		}
	default:
		// notSelector alone, in a GlobalNetworkPolicy, excludes some endpoints from
		// all addresses.
		to.Internet, to.CIDRs = !nets.given, nets.blocks
		if !nets.given || nets.whole(out.rule.Action) {
			to.Pods = selected.pods.pods("")
		}
	}
	to.NotSets = selected.notSets
	return nil
}

// selectedPeers are the endpoints that an entity selects.
type selectedPeers struct {
	pods          termSet
	sets, notSets []snapshot.Selector
}

// selected returns the endpoints that the entity selects, within a namespace if it is not
// empty. Without selectors those are all.
func (e *entityRule) selected(namespace string) (selectedPeers, error) {
	var out selectedPeers
	must, not, err := e.selectors()
	if err != nil {
		return out, err
	}
	if out.pods, err = must.except(not).terms(podEndpoints, false); err != nil {
		return out, err
	}
	sets, err := must.terms(setEndpoints, false)
	if err != nil {
		return out, err
	}
	if namespace != "" {
		own := snapshot.Requirement{Key: labelNamespace, Op: snapshot.In, Values: []string{namespace}}
		sets = sets.and(&termSet{list: []snapshot.Selector{{own}}})
	}
	out.sets = sets.list
	if not != nil {
		// What notSelector selects is excluded by its addresses, wherever it is.
		excluded, err := not.terms(setEndpoints, false)
		if err != nil {
			return out, err
		}
		out.notSets = excluded.list
	}
	return out, nil
}

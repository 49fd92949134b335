package calico

import (
	"errors"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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

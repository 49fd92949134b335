package hosts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// claim is one object's claim to one host pattern.
type claim struct {
	host   string // normalized; for a catch-all, the name of its proxy
	object *snapshot.Meta
	owner  *rules.Owner // of the object, mostly shared between claims
	// how are the fields that claim it, in the order of the object.
	how []snapshot.HostSource
	// class is the class of an Ingress, for people.
	class string
	// solver is true if the claimant has the marks of a solver of ACME challenges.
	solver bool
	// copyOf is the object whose claim this one repeats by the claimant's marks, or nil.
	copyOf *snapshot.Ref
	// gateways are the namespaces of the Gateways that the claimant names as parents.
	gateways []string
	// listeners are the first few listeners of Gateways through which the host is
	// claimed, for people.
	listeners []string
	// set is the latest time at which the host can have been claimed, by the best
	// evidence there is; zero if there is none.
	set time.Time
	// lanes are the traffic that a claim to a catch-all takes; none is all of it.
	lanes []snapshot.Lane
	// leaving is what the claim rests on that is being deleted.
	leaving leaving
	// deep is true if a wildcard covers any number of labels and not just one.
	deep bool
	// expression is the regular expression that claims it, as its object spells it.
	expression string
	// note says more of how, for people.
	note string
}

// claims are all claims of a cluster by host pattern.
type claims struct {
	view   *snapshot.View
	now    time.Time // when the sweep started
	byHost map[string][]*claim
	last   *rules.Owner // of the claim made last
	// failed are the objects whose claims, or some of them, could not be determined.
	failed []snapshot.Fault
}

// safely calls a function about one object, and names the object if it panics.
func (c *claims) safely(object *snapshot.Meta, evaluate func()) {
	if err := rules.Safely(evaluate); err != nil {
		c.fail(object, err)
	}
}

func (c *claims) fail(object *snapshot.Meta, err error) {
	c.failed = append(c.failed, snapshot.Fault{
		Ref: object.Ref(), Resource: object.Resource(), Reason: fmt.Sprintf("the hosts that it claims could not be evaluated: %v", err),
	})
}

// shared returns one pointer for consecutive equal owners: there are as many claims
// as hosts, and objects come sorted by namespace.
func (c *claims) shared(owner rules.Owner) *rules.Owner {
	if c.last == nil || *c.last != owner {
		c.last = &owner
	}
	return c.last
}

// add records a claim of an Ingress and returns it.
func (c *claims) add(host string, object *snapshot.Meta, owner rules.Owner, how snapshot.HostSource, set time.Time, class string) *claim {
	to := c.of(host, object, owner, how, c.leavingOf(object))
	to.class = class
	to.bound(set)
	return to
}

// bound notes that a field that makes the claim was set no later than then.
func (c *claim) bound(set time.Time) {
	if c.set.IsZero() || !set.IsZero() && set.Before(c.set) {
		c.set = set
	}
}

// namedListeners is how many listeners a claim names.
const namedListeners = 3

// addThrough records a claim through a listener of a Gateway and returns it. A
// wildcard there covers any number of labels.
func (c *claims) addThrough(listener, host string, object *snapshot.Meta, owner rules.Owner, how snapshot.HostSource, goes leaving) *claim {
	to := c.of(host, object, owner, how, goes)
	to.deep = true
	to.bound(object.HostsSet)
	if len(to.listeners) < namedListeners && !slices.Contains(to.listeners, listener) {
		to.listeners = append(to.listeners, listener)
	}
	return to
}

// addGateway notes a namespace with a Gateway that the claimant names as its parent.
func (c *claim) addGateway(namespace string) {
	if !slices.Contains(c.gateways, namespace) {
		c.gateways = append(c.gateways, namespace)
	}
}

// of returns the claim of an object to a host, and creates it if there is none:
// several fields of one object that claim the same host are one claim, which lasts as
// long as one of them does.
func (c *claims) of(host string, object *snapshot.Meta, owner rules.Owner, how snapshot.HostSource, goes leaving) *claim {
	list := c.byHost[host]
	// The claims of one object are added one after the other, so only the last one
	// can be its own.
	if n := len(list); n > 0 && list[n-1].object == object {
		last := list[n-1]
		last.leaving = last.leaving.orElse(goes)
		if !slices.Contains(last.how, how) {
			last.how = append(last.how, how)
		}
		return last
	}
	made := &claim{host: host, object: object, owner: c.shared(owner), how: []snapshot.HostSource{how}, leaving: goes}
	c.byHost[host] = append(list, made)
	return made
}

// verifiedID returns the identity of the owner of a claim.
func verifiedID(c *claim) rules.OwnerID { return c.owner.ID() }

// nameID returns the identity that the owner has if its name is believed.
func nameID(c *claim) rules.OwnerID { return c.owner.NameID() }

// claimants returns the objects of the claims, oldest first.
func claimants(list []*claim) []rules.Object {
	objects := make([]rules.Object, len(list))
	for i, c := range list {
		objects[i] = rules.ObjectOf(c.object, *c.owner, string(c.how[0]), c.detail())
	}
	slices.SortStableFunc(objects, rules.CompareObjects)
	return objects
}

// namedClaimants is how many claimants a message names. The finding lists all.
const namedClaimants = 5

// detail says for people how the host is claimed.
func (c *claim) detail() string {
	var parts []string
	for _, how := range c.how {
		if how == snapshot.FromHostSource && isCatchAll(c.host) {
			parts = append(parts, "every host or connection")
			continue
		}
		parts = append(parts, describeSource(how))
	}
	if c.expression != "" {
		parts = append(parts, "regular expression "+quoted(c.expression))
	}
	if c.note != "" {
		parts = append(parts, quoted(c.note))
	}
	if c.class != "" {
		parts = append(parts, "class "+c.class)
	}
	if ports := c.ports(); ports != "" {
		parts = append(parts, ports)
	}
	if c.solver {
		parts = append(parts, solves)
	}
	if c.owner.Unverified {
		parts = append(parts, "owner not verified by Namespace "+c.object.Namespace)
	}
	parts = append(parts, c.listeners...)
	parts = append(parts, c.leavingAs()...)
	return strings.Join(parts, ", ")
}

func describeSource(s snapshot.HostSource) string {
	switch s {
	case snapshot.FromRule:
		return "host of a rule"
	case snapshot.FromServerAlias:
		return "server-alias annotation"
	case snapshot.FromExternalDNS:
		return "external-dns hostname annotation"
	case snapshot.FromALB:
		return "ALB host-header condition"
	case snapshot.FromHAProxyAlias:
		return "server-alias annotation of HAProxy Ingress"
	case snapshot.FromHAProxyRedirect:
		return "redirect-from annotation of HAProxy Ingress"
	case snapshot.FromKongAliases:
		return "host-aliases annotation of Kong"
	case snapshot.FromHostnameExtension:
		return "hostname-extension annotation of Application Gateway"
	case snapshot.FromDefault:
		return "default backend without rules"
	case snapshot.FromHostname:
		return "hostname of the route"
	case snapshot.FromNarrowed:
		return "wildcard hostname of the route, narrowed by its listener"
	case snapshot.FromParent:
		return "no hostname, so the listener's applies"
	case snapshot.FromNoHostname:
		return "no hostname, and none on the listener"
	case snapshot.FromListener:
		return "hostname of a listener"
	case snapshot.FromHostSource:
		return "host of the object"
	}
	return string(s)
}

func owners(list []*claim) []rules.Owner {
	out := make([]rules.Owner, len(list))
	for i, c := range list {
		out[i] = *c.owner
	}
	return out
}

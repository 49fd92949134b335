package hosts

import (
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ingressClaims adds the claims of Ingresses.
func ingressClaims(c *claims, x *expressions, in rules.Input, classes *classes) {
	for ing := range in.View.Ingresses() {
		c.safely(&ing.Meta, func() { c.addIngress(ing, x, in, classes) })
	}
}

func (c *claims) addIngress(ing *snapshot.Ingress, x *expressions, in rules.Input, classes *classes) {
	owner := in.Owner(&ing.Meta)
	class := classes.of(ing)
	solver := isSolver(ing)
	for _, h := range ing.Hosts {
		if !class.known.Reads(h.Source) {
			continue
		}
		if host := Normalize(h.Host); host != "" {
			c.add(host, &ing.Meta, owner, h.Source, h.Set, class.name).solver = solver
		} else if name, shared := classes.catchAll(class, ing); shared {
			all := c.add(name, &ing.Meta, owner, h.Source, h.Set, class.name)
			all.takeAddresses(ing)
			all.solver = solver
		}
	}
	for i := range ing.Expressions {
		e := &ing.Expressions[i]
		if !class.known.Reads(e.Source) || x.add(e, &ing.Meta, owner, class.name) == nil {
			continue
		}
		if name, shared := classes.catchAll(class, ing); shared {
			c.add(name, &ing.Meta, owner, e.Source, e.Set, class.name).takeAddresses(ing)
		}
	}
	if !ing.DefaultOnly {
		return
	}
	if name, shared := classes.catchAll(class, ing); shared {
		c.add(name, &ing.Meta, owner, snapshot.FromDefault, ing.HostsSet, class.name).takeAddresses(ing)
	}
}

// takeAddresses limits a catch-all to the addresses in the status of its Ingress: at
// another address there is another load balancer, whatever the class and its
// controller. An Ingress without addresses may be served at any.
func (c *claim) takeAddresses(ing *snapshot.Ingress) {
	for _, address := range ing.Addresses {
		c.take(snapshot.Lane{Prefix: address + snapshot.EndOfLane})
	}
}

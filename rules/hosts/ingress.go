package hosts

import (
	"fmt"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// ingressClaims adds the claims of Ingresses. Objects that are being deleted claim
// nothing, and neither does a genuine solver of an ACME challenge, which borrows
// the host of the certificate for a minute.
func ingressClaims(c *claims, in rules.Input) {
	classes := newClasses(in.View)
	for ing := range in.View.Ingresses() {
		if !claimsHosts(in.View, ing) {
			continue
		}
		owner := in.Owner(&ing.Meta)
		class := classes.of(ing)
		for _, h := range ing.Hosts {
			if host := Normalize(h.Host); host != "" {
				c.add(host, &ing.Meta, owner, h.Source, h.Set, class.name)
			} else if name, shared := class.catchAll(ing); shared {
				c.add(name, &ing.Meta, owner, h.Source, h.Set, class.name).takeAddresses(ing)
			}
		}
		if !ing.DefaultOnly {
			continue
		}
		if name, shared := class.catchAll(ing); shared {
			c.add(name, &ing.Meta, owner, snapshot.FromDefault, ing.HostsSet, class.name).takeAddresses(ing)
		}
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

// claimsHosts reports whether an Ingress can claim hosts at all.
func claimsHosts(v *snapshot.View, ing *snapshot.Ingress) bool {
	return !leaving(v, &ing.Meta) && !isSolver(ing)
}

// isSolver reports whether an Ingress is a genuine HTTP01 solver: cert-manager's
// label, an owning Challenge, only challenge paths, and no further host by
// annotation. Anybody can write the label alone.
func isSolver(ing *snapshot.Ingress) bool {
	if !ing.SolverLabel || !ing.ChallengeOwner || !ing.ChallengePaths {
		return false
	}
	for _, h := range ing.Hosts {
		if h.Source != snapshot.FromRule {
			return false
		}
	}
	return true
}

// class is the class that serves an Ingress.
type class struct {
	name       string // empty if the Ingress names none and there is no default
	controller string
}

// classes finds the class of an Ingress.
type classes struct {
	controllers map[string]string // by class name
	fallback    string            // the default class
}

func newClasses(v *snapshot.View) classes {
	c := classes{controllers: map[string]string{}}
	var newest *snapshot.IngressClass
	for ic := range v.IngressClasses() {
		c.controllers[ic.Name] = ic.Controller
		// Of several defaults, admission takes the newest, then the first by name.
		if ic.Default && (newest == nil || ic.Created.After(newest.Created)) {
			newest, c.fallback = ic, ic.Name
		}
	}
	return c
}

func (c classes) of(ing *snapshot.Ingress) class {
	name := ing.Class
	if name == "" {
		name = c.fallback
	}
	return class{name: name, controller: c.controllers[name]}
}

// catchAll returns the name of the catch-all of a class, and whether its proxy is
// shared: a claim to every host of a dedicated proxy conflicts with nothing.
func (c class) catchAll(ing *snapshot.Ingress) (name string, shared bool) {
	if c.ownProxy(ing) {
		if ing.LoadBalancerGroup == "" {
			return "", false
		}
		return fmt.Sprintf("* (class %s, group %s)", c.name, ing.LoadBalancerGroup), true
	}
	if c.name == "" {
		return "* (no class)", true
	}
	return fmt.Sprintf("* (class %s)", c.name), true
}

// ownProxy reports whether the controller creates a load balancer for the Ingress
// alone. GKE's classes have no IngressClass object, so they are known by name, and so
// are the usual names if the manifests contain no IngressClass. Of any other
// controller only the addresses in the status show it.
func (c class) ownProxy(ing *snapshot.Ingress) bool {
	switch c.controller {
	case "cilium.io/ingress-controller":
		return ing.OwnLoadBalancer
	case "ingress.k8s.aws/alb", "eks.amazonaws.com/alb", "tailscale.com/ts-ingress":
		return true
	case "":
		return c.name == "cilium" && ing.OwnLoadBalancer || c.name == "alb" || c.name == "gce" || strings.HasPrefix(c.name, "gce-") || c.name == "tailscale"
	}
	return false
}

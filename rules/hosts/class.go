package hosts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// class is the class that serves an Ingress.
type class struct {
	name       string // empty if the Ingress names none and there is no default
	controller string // of the IngressClass
	object     *snapshot.IngressClass
	// known is the controller, or nil if its annotations are not known.
	known *snapshot.IngressController
	// params are the parameters of the IngressClass, or nil.
	params *snapshot.IngressClassParams
}

// classes finds the class of an Ingress.
type classes struct {
	byName   map[string]*class
	fallback string              // the default class
	groups   map[balancer]string // the first class by name in each group
}

// balancer identifies a load balancer that a group of Ingresses shares. Those of one
// controller share it even if their classes differ.
type balancer struct{ controller, group string }

func newClasses(v *snapshot.View) *classes {
	params := map[snapshot.Ref]*snapshot.IngressClassParams{}
	for p := range v.IngressClassParams() {
		params[p.Ref()] = p
	}
	c := &classes{byName: map[string]*class{}, groups: map[balancer]string{}}
	var newest *snapshot.IngressClass
	for ic := range v.IngressClasses() {
		made := &class{name: ic.Name, controller: ic.Controller, object: ic, known: snapshot.FindIngressController(ic.Name, ic.Controller)}
		if made.grouped() {
			made.params = params[ic.Parameters]
		}
		c.byName[ic.Name] = made
		// Of several defaults, admission takes the newest, then the first by name.
		if ic.Default && (newest == nil || ic.Created.After(newest.Created)) {
			newest, c.fallback = ic, ic.Name
		}
	}
	for ing := range v.Ingresses() {
		class := c.of(ing)
		if b, ok := class.balancer(ing); ok {
			if first, ok := c.groups[b]; !ok || class.name < first {
				c.groups[b] = class.name
			}
		}
	}
	return c
}

func (c *classes) of(ing *snapshot.Ingress) *class {
	name := ing.Class
	if name == "" {
		name = c.fallback
	}
	found, ok := c.byName[name]
	if !ok {
		found = &class{name: name, known: snapshot.FindIngressController(name, "")}
		c.byName[name] = found
	}
	return found
}

// grouped reports whether the controller puts Ingresses into groups that share a load
// balancer.
func (c *class) grouped() bool {
	return c.known != nil && (c.known.Name == snapshot.ControllerAWS || c.known.Name == snapshot.ControllerEKS)
}

// balancer returns the load balancer of the group that an Ingress is in, and whether
// it is in one. The group in the parameters of the class wins over the annotation
// (AWS Load Balancer Controller, pkg/ingress/group_loader.go). Parameters do not apply
// to an Ingress that names its class by the older annotation.
func (c *class) balancer(ing *snapshot.Ingress) (balancer, bool) {
	if !c.grouped() {
		return balancer{}, false
	}
	group := ing.LoadBalancerGroup
	if c.params != nil && c.params.Grouped && !ing.ClassAnnotated {
		group = c.params.Group
	}
	return balancer{c.known.Name, group}, group != ""
}

// catchAll returns the name of the catch-all of a class, and whether its proxy is
// shared: a claim to every host of a dedicated proxy conflicts with nothing.
func (c *classes) catchAll(of *class, ing *snapshot.Ingress) (name string, shared bool) {
	if b, ok := of.balancer(ing); ok {
		return fmt.Sprintf("* (class %s, group %s)", c.groups[b], b.group), true
	}
	switch {
	case of.ownProxy(ing):
		return "", false
	case of.name == "":
		return "* (no class)", true
	}
	return fmt.Sprintf("* (class %s)", of.name), true
}

// ownProxy reports whether the controller creates a load balancer for the Ingress
// alone. GKE's classes have no IngressClass object, so they are known by name, and so
// are the usual names if the manifests contain no IngressClass. Of any other
// controller only the addresses in the status show it.
func (c *class) ownProxy(ing *snapshot.Ingress) bool {
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

// missingParameters returns an advisory for each IngressClass of an AWS controller
// whose parameters are not among the objects, if Ingresses of the class have no host:
// it is unknown whether these share a load balancer.
func missingParameters(in rules.Input, classes *classes) []rules.Advisory {
	hostless := map[*class][]*snapshot.Ingress{}
	for ing := range in.View.Ingresses() {
		class := classes.of(ing)
		lost := class.object != nil && class.grouped() && class.object.Parameters.Name != "" && class.params == nil
		if lost && !ing.ClassAnnotated && takesEveryHost(ing) {
			hostless[class] = append(hostless[class], ing)
		}
	}
	var out []rules.Advisory
	for class, list := range hostless {
		a := rules.Advisory{
			Subject: rules.SubjectOf(&class.object.Meta),
			Message: fmt.Sprintf("whether its Ingresses without a host share a load balancer was not evaluated: %s, which may put them into a group, was not found",
				class.object.Parameters),
		}
		for _, ing := range list[:min(len(list), maxListed)] {
			owner := in.Owner(&ing.Meta)
			a.Owners = append(a.Owners, owner)
			a.Objects = append(a.Objects, rules.ObjectOf(&ing.Meta, owner, "group-unknown", ""))
		}
		out = append(out, a)
	}
	return out
}

// takesEveryHost reports whether an Ingress asks for every host of its proxy.
func takesEveryHost(ing *snapshot.Ingress) bool {
	return ing.DefaultOnly || slices.ContainsFunc(ing.Hosts, func(h snapshot.HostClaim) bool { return Normalize(h.Host) == "" })
}

package hosts

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// hostObjectClaims adds the claims of objects of host sources. Where it is unknown
// which proxy serves them, an object that asks for every host claims nothing: whether
// that conflicts with anything is unknown as well. So it resolves nothing either, and one
// that asks by an expression, which no honest object needs, counts as not read.
func hostObjectClaims(c *claims, x *expressions, points *entryPoints, in rules.Input) {
	gateways := newIstioGateways(in.View)
	for o := range in.View.HostObjects() {
		c.safely(&o.Meta, func() { c.addHostObject(o, x, points, gateways, in) })
	}
}

func (c *claims) addHostObject(o *snapshot.HostObject, x *expressions, points *entryPoints, gateways istioGateways, in rules.Input) {
	owner := in.Owner(&o.Meta)
	for _, h := range o.Hosts {
		if host := Normalize(h.Host); host != "" && gateways.admit(o, host) {
			claimed := c.addFrom(host, &o.Meta, owner, snapshot.FromHostSource, h.Deep)
			claimed.solver, claimed.copyOf = o.Solver, o.CopyOf
			gateways.attach(claimed, o)
		}
	}
	for i := range o.Expressions {
		e := &o.Expressions[i]
		if every := x.add(e, &o.Meta, owner, ""); every != nil && !namesProxies(o) {
			x.cannotRead(&o.Meta, e.Spelling, "it matches every host, and which proxy serves it is not known")
		}
	}
	routers := claim{
		object: &o.Meta, owner: c.shared(owner), how: []snapshot.HostSource{snapshot.FromHostSource}, set: o.HostsSet, leaving: c.leavingOf(&o.Meta),
	}
	points.addHosts(o, routers)
	for i := range o.Bindings {
		b := &o.Bindings[i]
		switch {
		case len(b.Lanes) == 0:
		case b.Gateway == "":
			points.add(b, routers)
		case gateways.admitAt(b, o.Namespace, ""):
			c.addFrom(fmt.Sprintf("* (Istio gateway %s)", b.Gateway), &o.Meta, owner, snapshot.FromHostSource, true).lanes = b.Lanes
		}
	}
}

// namesProxies reports whether it is known at which proxies an object takes every host.
func namesProxies(o *snapshot.HostObject) bool {
	return slices.ContainsFunc(o.Bindings, func(b snapshot.Binding) bool { return len(b.Lanes) > 0 })
}

// asksForEveryHost reports whether an object asks for every host of proxies that are not
// known.
func asksForEveryHost(o *snapshot.HostObject) bool {
	return !namesProxies(o) && slices.ContainsFunc(o.Hosts, func(h snapshot.HostPattern) bool { return Normalize(h.Host) == "" })
}

// addFrom records a claim of an object of a host source and returns it.
func (c *claims) addFrom(host string, object *snapshot.Meta, owner rules.Owner, how snapshot.HostSource, deep bool) *claim {
	to := c.of(host, object, owner, how, c.leavingOf(object))
	to.deep = to.deep || deep
	to.bound(object.HostsSet)
	return to
}

// readBySources yields what host sources read from objects of their own kinds, and
// from routes.
func readBySources(v *snapshot.View) iter.Seq[*snapshot.HostObject] {
	return func(yield func(*snapshot.HostObject) bool) {
		for o := range v.HostObjects() {
			if !yield(o) {
				return
			}
		}
		for route := range v.Routes() {
			if route.Published != nil && !yield(route.Published) {
				return
			}
		}
	}
}

// unreadObjects returns the objects of host sources whose hosts could not be read, or not
// all of them.
func unreadObjects(in rules.Input) []snapshot.Fault {
	var out []snapshot.Fault
	for o := range readBySources(in.View) {
		if o.Err != "" {
			out = append(out, snapshot.Fault{Ref: o.Ref(), Resource: o.Resource(), Reason: o.Err})
		}
		for _, value := range o.Unread {
			out = append(out, snapshot.Fault{Ref: o.Ref(), Resource: o.Resource(), Reason: "hosts that it may claim can't be read: " + value})
		}
	}
	return out
}

// unreadKinds returns an advisory for each kind that carries hosts and was not read.
func unreadKinds(in rules.Input) []rules.Advisory {
	byKind := map[snapshot.Kind][]*snapshot.UnreadHosts{}
	for u := range in.View.UnreadHosts() {
		byKind[u.Kind] = append(byKind[u.Kind], u)
	}
	var out []rules.Advisory
	for kind, list := range byKind {
		a := rules.Advisory{Subject: rules.Subject{Kind: "CustomResourceDefinition", Name: string(kind)}}
		count, namespaces := 0, []string(nil)
		for _, u := range list {
			count += u.Count
			if u.Unknown == "" && len(namespaces) < maxListed {
				namespaces = append(namespaces, u.Namespace)
				a.Owners = append(a.Owners, in.Owner(&snapshot.Meta{Namespace: u.Namespace}))
			}
		}
		first := list[0]
		there := fmt.Sprintf("%s of kind %s in namespace %s", rules.Count(count, "object"), first.Object, strings.Join(namespaces, ", "))
		switch {
		case first.Unknown != "":
			there = fmt.Sprintf("whether there are objects of kind %s is unknown (%s)", first.Object, first.Unknown)
		case len(list) > len(namespaces):
			there += fmt.Sprintf(" and %d more", len(list)-len(namespaces))
		}
		a.Message = there + ": what hosts they claim was not evaluated. Add a host source to the config: " + first.Setting
		out = append(out, a)
	}
	return out
}

// unreadHosts returns an advisory for each object of a host source some or all of
// whose hosts are unknown.
func unreadHosts(in rules.Input) []rules.Advisory {
	var out []rules.Advisory
	for o := range readBySources(in.View) {
		var message string
		switch {
		case o.Err != "":
			message = "its hosts could not be read: " + o.Err
		case len(o.Invalid)+len(o.Unread) > 0:
			message = "hosts that it may claim were not evaluated because they cannot be compared: " + strings.Join(slices.Concat(o.Unread, o.Invalid), ", ")
		default:
			continue
		}
		owner := in.Owner(&o.Meta)
		out = append(out, rules.Advisory{
			Subject: rules.SubjectOf(&o.Meta),
			Owners:  []rules.Owner{owner},
			Message: message,
			Objects: []rules.Object{rules.ObjectOf(&o.Meta, owner, "unreadable", "")},
		})
	}
	return out
}

package hosts

import (
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// dependents returns the objects whose claims depend on one that could not be read: what
// attaches to a Gateway or a ListenerSet, the Ingresses of a class, and everything in a
// Namespace whose owner is not known. So do the claims of one that asks for every host of
// proxies that are not known. A conflict that they were part of may still exist.
func dependents(in rules.Input) []snapshot.Ref {
	unread := map[snapshot.Ref]bool{}
	gateways := false
	namespaces, classes := map[string]bool{}, map[string]bool{}
	for f := range in.View.Faults() {
		switch f.Resource {
		case snapshot.Gateways:
			gateways = true
			unread[f.Ref] = true
		case snapshot.ListenerSets, snapshot.XListenerSets:
			unread[f.Ref] = true
		case snapshot.Namespaces:
			namespaces[f.Name] = true
		case snapshot.IngressClasses, snapshot.AWSIngressClassParams, snapshot.EKSIngressClassParams:
			classes[f.Name] = true
		}
	}
	var out []snapshot.Ref
	for s := range in.View.ListenerSets() {
		if unread[s.Parent] {
			unread[s.Ref()] = true
		}
		if unread[s.Ref()] || namespaces[s.Namespace] {
			out = append(out, s.Ref())
		}
	}
	for r := range in.View.Routes() {
		attached := slices.ContainsFunc(r.Parents, func(p snapshot.ParentRef) bool { return unread[p.Ref] })
		// Which Gateways are defaults is not known.
		if attached || gateways && r.Default || namespaces[r.Namespace] {
			out = append(out, r.Ref())
		}
	}
	var configured []string // the classes with parameters that could not be read
	for c := range in.View.IngressClasses() {
		if c.Parameters.Name != "" && classes[c.Parameters.Name] {
			configured = append(configured, c.Name)
		}
	}
	for _, name := range configured {
		classes[name] = true
	}
	for i := range in.View.Ingresses() {
		// Without a class it is that of the default, which may be the one.
		if classes[i.Class] || i.Class == "" && len(classes) > 0 || namespaces[i.Namespace] {
			out = append(out, i.Ref())
		}
	}
	for o := range in.View.HostObjects() {
		if namespaces[o.Namespace] || asksForEveryHost(o) {
			out = append(out, o.Ref())
		}
	}
	slices.SortFunc(out, snapshot.Ref.Compare)
	return slices.Compact(out)
}

// unreadIn returns the namespaces with an object that may claim any host, because it could
// not be read. Who was part of a conflict may have replaced the object by that one.
func unreadIn(in rules.Input, unread []snapshot.Fault) []string {
	var out []string
	for _, f := range unread {
		out = append(out, f.Namespace)
	}
	for f := range in.View.Faults() {
		if f.Namespace != "" {
			out = append(out, f.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

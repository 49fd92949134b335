package rules

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// claim is one object's claim to one host pattern.
type claim struct {
	host   string // normal; a catch-all has the name of its proxy instead
	object *snapshot.Meta
	owner  Owner
	// how says which fields claim it, in the order of the object.
	how []snapshot.HostSource
	// class is the class or Gateway through which it is claimed, for people.
	class string
	// deep is true where a wildcard covers any number of labels and not just
	// one.
	deep bool
}

// claims are all claims of a cluster by host pattern.
type claims struct {
	byHost map[string][]*claim
}

// add records a claim. Several fields of one object that claim one host are one
// claim.
func (c *claims) add(host string, object *snapshot.Meta, owner Owner, how snapshot.HostSource, class string) {
	list := c.byHost[host]
	// One object's claims come one after the other, so only the last can be
	// its own.
	if n := len(list); n > 0 && list[n-1].object == object {
		if !slices.Contains(list[n-1].how, how) {
			list[n-1].how = append(list[n-1].how, how)
		}
		return
	}
	c.byHost[host] = append(list, &claim{
		host: host, object: object, owner: owner, how: []snapshot.HostSource{how}, class: class,
	})
}

// isCatchAll reports whether a claimed pattern is the catch-all of a proxy, which
// no host is spelled like.
func isCatchAll(host string) bool { return strings.HasPrefix(host, "* (") }

// contested reports whether at least two owners are among the claims.
func contested(list []*claim) bool {
	return slices.ContainsFunc(list, func(c *claim) bool { return !c.owner.Is(list[0].owner) })
}

// claimants returns the objects of the claims, oldest first.
func claimants(list []*claim) []Object {
	objects := make([]Object, len(list))
	for i, c := range list {
		objects[i] = objectOf(c.object, c.owner, string(c.how[0]), c.detail())
	}
	slices.SortStableFunc(objects, CompareObjects)
	return objects
}

// detail says for people how the host is claimed.
func (c *claim) detail() string {
	var parts []string
	for _, how := range c.how {
		parts = append(parts, describeSource(how))
	}
	if c.class != "" {
		parts = append(parts, "class "+c.class)
	}
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
	case snapshot.FromDefault:
		return "default backend without rules"
	}
	return string(s)
}

// objectOf returns the object of a violation.
func objectOf(m *snapshot.Meta, owner Owner, reason, detail string) Object {
	return Object{Ref: m.Ref(), Owner: owner.Name, Created: m.Created, Reason: reason, Detail: detail}
}

// CompareObjects orders objects by creation, then reference. Those whose
// creation is not known come last.
func CompareObjects(a, b Object) int {
	switch {
	case a.Created.Equal(b.Created):
		return a.Ref.Compare(b.Ref)
	case a.Created.IsZero():
		return 1
	case b.Created.IsZero():
		return -1
	}
	return a.Created.Compare(b.Created)
}

func owners(list []*claim) []Owner {
	out := make([]Owner, len(list))
	for i, c := range list {
		out[i] = c.owner
	}
	return out
}

package hosts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Of the routers of an entry point of Traefik that match a request, the one with the
// highest priority takes it, whatever the others say of the host. So there are two ways
// in which a router for every host conflicts with those of others: with another one for
// every host, and with one for a certain host that has a lower priority. Both are one
// finding, of the catch-all of the entry point.

// entryPoints are the routers of entry points of Traefik.
type entryPoints struct {
	named map[entryPoint][]*claim
	every map[string][]*claim // of all entry points, by class
	// hosts are the routers for certain hosts, by class.
	hosts map[string][]*hostRouter
}

type entryPoint struct{ name, class string }

// internalEntryPoint is the one that Traefik has for itself. A router that names none is
// not there.
const internalEntryPoint = "traefik"

// hostRouter is a claim to a host by routers of Traefik.
type hostRouter struct {
	host string
	rank int
	at   []string // entry points; none is all the usual ones
	claim
}

func newEntryPoints() *entryPoints {
	return &entryPoints{named: map[entryPoint][]*claim{}, every: map[string][]*claim{}, hosts: map[string][]*hostRouter{}}
}

// add adds what an object takes of every host at an entry point.
func (e *entryPoints) add(b *snapshot.Binding, from claim) {
	from.lanes = b.Lanes
	if b.EntryPoint == "" {
		e.every[b.Class] = append(e.every[b.Class], &from)
		return
	}
	at := entryPoint{b.EntryPoint, b.Class}
	// An object may name an entry point twice.
	if list := e.named[at]; len(list) == 0 || list[len(list)-1].object != from.object {
		e.named[at] = append(list, &from)
	}
}

// addHosts adds the hosts of an object of a host source whose routers have a priority.
func (e *entryPoints) addHosts(o *snapshot.HostObject, from claim) {
	if len(o.Bindings) == 0 || o.Bindings[0].Gateway != "" {
		return
	}
	var at []string
	for _, b := range o.Bindings {
		if b.EntryPoint != "" {
			at = append(at, b.EntryPoint)
		}
	}
	class := o.Bindings[0].Class
	for _, h := range o.Hosts {
		if host := Normalize(h.Host); host != "" && h.Rank != 0 {
			e.hosts[class] = append(e.hosts[class], &hostRouter{host, h.Rank, at, from})
		}
	}
}

// addIngresses adds the routers that Traefik makes of Ingresses. If there is one class of
// Traefik, it is taken to be that of the IngressRoutes that name none: which classes it
// reads is a flag.
func (e *entryPoints) addIngresses(c *claims, in rules.Input, classes *classes) {
	names := map[string]bool{}
	for ing := range in.View.Ingresses() {
		if class := classes.of(ing); class.isTraefik() {
			names[class.name] = true
		}
	}
	for ing := range in.View.Ingresses() {
		class := classes.of(ing)
		if !class.isTraefik() {
			continue
		}
		// It borrows its host for a minute, and nothing is taken from it. One without a
		// host solves nothing, whatever its marks say.
		solver := isSolver(ing)
		name := class.name
		if len(names) == 1 || name == "traefik" {
			name = ""
		}
		from := claim{object: &ing.Meta, owner: c.shared(in.Owner(&ing.Meta)), how: []snapshot.HostSource{snapshot.FromRule}, set: ing.HostsSet, class: class.name, leaving: c.leavingOf(&ing.Meta)}
		every := false
		for _, h := range ing.Hosts {
			host := Normalize(h.Host)
			switch {
			case h.Source != snapshot.FromRule:
			case host == "":
				every = true
			case solver:
			default:
				rank := cmp.Or(ing.Priority, len("Host(``) && PathPrefix(`/`)")+len(host))
				e.hosts[name] = append(e.hosts[name], &hostRouter{host, rank, ing.EntryPoints, from})
			}
		}
		if !every && !ing.DefaultOnly {
			continue
		}
		// A default backend comes after everything else.
		lanes := []snapshot.Lane{{Prefix: "http "}}
		if every {
			lanes[0].Rank = cmp.Or(ing.Priority, ing.EveryHostRule)
		} else {
			from.how = []snapshot.HostSource{snapshot.FromDefault}
		}
		for _, at := range orEvery(ing.EntryPoints) {
			e.add(&snapshot.Binding{EntryPoint: at, Class: name, Lanes: lanes}, from)
		}
	}
}

// isTraefik reports whether Traefik serves the class.
func (c *class) isTraefik() bool {
	return c.known != nil && c.known.Name == "traefik.io/ingress-controller" || c.controller == "" && c.name == "traefik"
}

func orEvery(at []string) []string {
	if len(at) == 0 {
		return []string{""}
	}
	return at
}

// addTo adds the claims to those of a cluster. Claims to every entry point meet each
// other, and those at each named one.
func (e *entryPoints) addTo(c *claims) {
	for at, list := range e.named {
		if at.name != internalEntryPoint {
			list = slices.Concat(list, e.every[at.class])
		}
		c.addCatchAll(at.catchAll(), list)
	}
	for class, list := range e.every {
		c.addCatchAll(entryPoint{class: class}.catchAll(), list)
	}
}

// addCatchAll adds the claims to one catch-all. Ingresses alone meet at that of their
// class.
func (c *claims) addCatchAll(host string, list []*claim) {
	if !slices.ContainsFunc(list, func(from *claim) bool { return from.how[0] == snapshot.FromHostSource }) {
		return
	}
	for _, from := range list {
		made := *from
		made.host = host
		c.byHost[host] = append(c.byHost[host], &made)
	}
}

// catchAll returns the name of the catch-all of an entry point.
func (p entryPoint) catchAll() string {
	at := "every entry point"
	if p.name != "" {
		at = "entry point " + p.name
	}
	if p.class != "" {
		at += ", class " + p.class
	}
	return fmt.Sprintf("* (%s)", at)
}

const (
	// maxOutranked is how many claims to hosts are compared in all, and leastOutranked how
	// many at each entry point even if that is exceeded: anybody may name any number of
	// entry points.
	maxOutranked   = 5_000_000
	leastOutranked = 10
	// maxTakers is how many routers for every host a finding lists of those that go before
	// others, those with the highest priority.
	maxTakers = 100
	// namedHosts is how many hosts a claimant names, and maxOfOwner how many objects of
	// each owner a finding lists.
	namedHosts = 5
	maxOfOwner = 3
)

// outranked returns, by the name of the catch-all, the routers for every host that go
// before routers of others for certain hosts, and these.
func (e *entryPoints) outranked() map[string][]*claim {
	for _, list := range e.hosts {
		slices.SortStableFunc(list, func(a, b *hostRouter) int { return cmp.Compare(a.rank, b.rank) })
	}
	all := maps.Clone(e.named)
	for class, list := range e.every {
		all[entryPoint{class: class}] = list
	}
	out := map[string][]*claim{}
	left := maxOutranked
	byName := func(a, b entryPoint) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.class, b.class))
	}
	for _, at := range slices.SortedFunc(maps.Keys(all), byName) {
		hosts := e.hosts[at.class]
		hosts = hosts[:min(len(hosts), max(left, leastOutranked))]
		left -= len(hosts)
		if list := outrankedAt(at.name, all[at], hosts); len(list) > 0 {
			out[at.catchAll()] = list
		}
	}
	return out
}

// outrankedAt returns the routers for every host at one entry point that go before others'
// routers for certain hosts, and these.
func outrankedAt(name string, takers []*claim, hosts []*hostRouter) []*claim {
	var out []*claim
	listed := map[*snapshot.Meta]*claim{}
	ofOwner := map[rules.OwnerID]int{}
	met := map[*snapshot.Meta][]string{}
	highest := highestRanks(takers)
	takers = slices.SortedStableFunc(slices.Values(takers), func(a, b *claim) int { return cmp.Compare(b.rank(), a.rank()) })
	takers = takers[:min(len(takers), maxTakers)]
	for _, h := range hosts {
		if !h.isAt(name) || highest.foreignTo(h.owner.ID()) <= h.rank {
			continue
		}
		for _, t := range takers {
			if len(met[t.object]) <= namedHosts && !t.owner.Is(*h.owner) && t.rank() > h.rank && !slices.Contains(met[t.object], h.host) {
				met[t.object] = append(met[t.object], h.host)
			}
		}
		if made := listed[h.object]; made == nil && ofOwner[h.owner.ID()] < maxOfOwner {
			ofOwner[h.owner.ID()]++
			lower := h.claim
			lower.note = fmt.Sprintf("%s with priority %d", h.host, h.rank)
			listed[h.object] = &lower
			out = append(out, &lower)
		}
	}
	if len(out) == 0 {
		return nil
	}
	for _, t := range takers {
		if hosts := met[t.object]; len(hosts) > 0 {
			higher := *t
			priority := fmt.Sprintf("priority %d", t.rank())
			if t.rank() >= snapshot.RankOfTCP {
				priority = "a router for TCP with TLS"
			}
			higher.note = fmt.Sprintf("%s, before %s", priority, strings.Join(hosts[:min(len(hosts), namedHosts)], ", "))
			if len(hosts) > namedHosts {
				higher.note += " and others"
			}
			out = append(out, &higher)
		}
	}
	return out
}

func (h *hostRouter) isAt(name string) bool {
	switch {
	case name == "":
		return len(h.at) == 0 || slices.ContainsFunc(h.at, func(at string) bool { return at != internalEntryPoint })
	case len(h.at) == 0:
		return name != internalEntryPoint
	}
	return slices.Contains(h.at, name)
}

// rank returns the highest priority of a claim for HTTP, or 0.
func (c *claim) rank() int {
	highest := 0
	for _, l := range c.lanes {
		highest = max(highest, l.Rank)
	}
	return highest
}

// ranks are the highest priority of some claims, and the highest of another owner's.
type ranks struct {
	first         rules.OwnerID
	best, another int
}

func highestRanks(list []*claim) (r ranks) {
	for _, c := range list {
		switch id := c.owner.ID(); {
		case r.best == 0 || id == r.first:
			r.first, r.best = id, max(r.best, c.rank())
		case c.rank() > r.best:
			r.first, r.best, r.another = id, c.rank(), r.best
		default:
			r.another = max(r.another, c.rank())
		}
	}
	return r
}

// foreignTo returns the highest priority of an owner other than the given one.
func (r *ranks) foreignTo(id rules.OwnerID) int {
	if id == r.first {
		return r.another
	}
	return r.best
}

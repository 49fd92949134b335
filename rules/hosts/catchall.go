package hosts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Catch-alls of one proxy are claims to one host, the catch-all of that proxy, but
// each may take only some of the traffic: the lanes of the claim. Two of them conflict
// if a lane of one meets a lane of the other: on the same port, or on any port, one
// begins with what the other begins with.

// isCatchAll reports whether a claimed pattern is the catch-all of a proxy. Its
// spelling is not a valid host.
func isCatchAll(host string) bool { return strings.HasPrefix(host, "* (") }

// take adds a lane to a claim.
func (c *claim) take(lane snapshot.Lane) {
	if !slices.Contains(c.lanes, lane) {
		c.lanes = append(c.lanes, lane)
	}
}

// ports names the ports of the claim's lanes for people, or returns "" if it has
// lanes on every port.
func (c *claim) ports() string {
	var ports []int32
	for _, l := range c.lanes {
		if l.Port != 0 {
			ports = append(ports, l.Port)
		}
	}
	if len(ports) == 0 {
		return ""
	}
	slices.Sort(ports)
	ports = slices.Compact(ports)
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = fmt.Sprint(p)
	}
	if len(texts) == 1 {
		return "port " + texts[0]
	}
	return "ports " + strings.Join(texts, ", ")
}

// meeting returns the claims to one catch-all that meet a claim of another owner, in
// their order. Which owners are others is up to id. A claim without lanes takes
// everything.
func meeting(list []*claim, id func(*claim) rules.OwnerID) []*claim {
	var all []laneEntry
	byPort := map[int32][]laneEntry{}
	for _, c := range list {
		if len(c.lanes) == 0 {
			all = append(all, laneEntry{claim: c})
		}
		for _, l := range c.lanes {
			e := laneEntry{c, l}
			all = append(all, e)
			if l.Port != 0 {
				byPort[l.Port] = append(byPort[l.Port], e)
			}
		}
	}
	met := map[*claim]bool{}
	// A lane on every port meets all others, and lanes on one port meet each other.
	markMeeting(met, all, id, func(e laneEntry) bool { return e.lane.Port == 0 })
	for _, entries := range byPort {
		markMeeting(met, entries, id, func(laneEntry) bool { return true })
	}
	var out []*claim
	for _, c := range list {
		if met[c] {
			out = append(out, c)
		}
	}
	return out
}

// laneEntry is one lane of a claim.
type laneEntry struct {
	claim *claim
	lane  snapshot.Lane
}

// laneNode is the entries with one prefix. Each set of owners is twofold: of all
// entries, and of those that meet entries on other ports.
type laneNode struct {
	entries      []laneEntry
	above, below ownersOf // of the nodes with a shorter prefix, and with a longer one; both with its own
}

type ownersOf struct{ all, everyPort ownerSet }

// markMeeting notes the claims with an entry that meets one of another owner. At
// least one of the two must be on every port. Sorted by prefix, the entries that an
// entry meets are those on the path to it and those right after it, so that no entry
// is compared with all others.
func markMeeting(met map[*claim]bool, entries []laneEntry, idOf func(*claim) rules.OwnerID, everyPort func(laneEntry) bool) {
	slices.SortStableFunc(entries, func(a, b laneEntry) int { return strings.Compare(a.lane.Prefix, b.lane.Prefix) })
	var path []*laneNode
	pop := func() {
		n := path[len(path)-1]
		path = path[:len(path)-1]
		for _, e := range n.entries {
			id := idOf(e.claim)
			above, below := &n.above.everyPort, &n.below.everyPort
			if everyPort(e) {
				above, below = &n.above.all, &n.below.all
			}
			if above.foreign(id) || below.foreign(id) {
				met[e.claim] = true
			}
		}
		if len(path) > 0 {
			up := &path[len(path)-1].below
			up.all.merge(n.below.all)
			up.everyPort.merge(n.below.everyPort)
		}
	}
	for i := 0; i < len(entries); {
		prefix := entries[i].lane.Prefix
		for len(path) > 0 && !strings.HasPrefix(prefix, path[len(path)-1].entries[0].lane.Prefix) {
			pop()
		}
		n := &laneNode{}
		for ; i < len(entries) && entries[i].lane.Prefix == prefix; i++ {
			n.entries = append(n.entries, entries[i])
			id := idOf(entries[i].claim)
			n.below.all.add(id)
			if everyPort(entries[i]) {
				n.below.everyPort.add(id)
			}
		}
		n.above = n.below
		if len(path) > 0 {
			n.above.all.merge(path[len(path)-1].above.all)
			n.above.everyPort.merge(path[len(path)-1].above.everyPort)
		}
		path = append(path, n)
	}
	for len(path) > 0 {
		pop()
	}
}

// ownerSet says of some owners whether there are others than a given one.
type ownerSet struct {
	first         rules.OwnerID
	some, several bool
}

func (s *ownerSet) add(id rules.OwnerID) {
	switch {
	case !s.some:
		s.first, s.some = id, true
	case s.first != id:
		s.several = true
	}
}

func (s *ownerSet) merge(o ownerSet) {
	if o.some {
		s.add(o.first)
		s.several = s.several || o.several
	}
}

// foreign reports whether an owner other than the given one is in the set.
func (s *ownerSet) foreign(id rules.OwnerID) bool { return s.several || s.some && s.first != id }

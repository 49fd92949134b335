package redteam

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// attack is what the attacker has in their namespace, sweep by sweep.
type attack struct {
	estate *estate
	victim held   // whose host is stolen, the zero value if none is
	by     string // how
	// opened are the directions in which the attacker's own namespace is open, and how.
	opened [2]bool
	how    string
	steps  []*step
	tricks []string
}

// step is what the attacker has during one sweep.
type step struct {
	at      time.Time
	objects []object
	// loot are those that take the host, or open the namespace.
	loot []object
	// stolen is true if the attacker is served at the victim's host.
	stolen bool
	// ending is when the attacker's namespace was deleted, if it was.
	ending time.Time
}

// newAttack returns an attack without a theft: the attacker has a namespace that denies by
// default.
func newAttack(r *rand.Rand, sweeps int) *attack {
	a := &attack{estate: newEstate(r)}
	at := start
	for range sweeps {
		a.steps = append(a.steps, &step{at: at})
		at = at.Add(time.Duration(8+r.IntN(5)) * time.Minute)
	}
	own := slices.Concat(workload(mallory, "web"), denied(mallory))
	for _, o := range own {
		o.created(start.Add(-30 * 24 * time.Hour))
	}
	owned(own[1], own[0])
	owned(own[2], own[1])
	for _, s := range a.steps {
		s.add(own...)
	}
	return a
}

// begin steals a host, or opens the attacker's own namespace.
func (a *attack) begin(r *rand.Rand) {
	if r.IntN(4) == 0 {
		a.open(r, openings()[r.IntN(len(openings()))])
		return
	}
	for all := thefts(); !a.steals(); {
		a.steal(r, all[r.IntN(len(all))])
	}
}

// open opens the attacker's own namespace from the second sweep on.
func (a *attack) open(r *rand.Rand, o opening) {
	a.how, a.opened = o.name, o.opens
	o.apply(r, a)
}

// steal takes a host from the second sweep on, if there is one that can be taken so.
func (a *attack) steal(r *rand.Rand, c claim) {
	among := a.estate.hosts
	if c.takes != "" {
		among = a.estate.everyHost
	}
	among = slices.DeleteFunc(slices.Clone(among), func(h held) bool {
		return c.over != nil && !c.over(h) || c.takes != "" && c.takes != h.host
	})
	if len(among) == 0 {
		return
	}
	victim := among[r.IntN(len(among))]
	a.victim, a.by = victim, c.name
	objects := c.objects(r, mallory, "outlet", victim.host)
	for _, s := range a.steps[1:] {
		for _, o := range objects {
			o.created(a.steps[1].at.Add(-3 * time.Minute))
		}
		s.use(objects...)
		s.stolen = true
	}
}

// add adds copies of objects.
func (s *step) add(objects ...object) {
	for _, o := range objects {
		s.objects = append(s.objects, o.clone())
	}
}

// use adds copies of objects that take the host, or open the namespace.
func (s *step) use(objects ...object) {
	before := len(s.objects)
	s.add(objects...)
	s.loot = append(s.loot, s.objects[before:]...)
}

// drop removes what takes the host.
func (s *step) drop() {
	s.objects = slices.DeleteFunc(s.objects, func(o object) bool {
		return slices.ContainsFunc(s.loot, func(l object) bool { return l.id() == o.id() })
	})
	s.loot = nil
}

// from returns the steps of a disguise: all with the theft, or those after it was seen
// without one.
func (a *attack) from(r *rand.Rand) []*step { return a.steps[1+r.IntN(len(a.steps)-1):] }

// world returns all objects during a step, with the attacker's or without.
func (a *attack) world(s *step, attacked bool) []object {
	objects := slices.Clone(a.estate.all)
	if !attacked {
		return objects
	}
	if !s.ending.IsZero() {
		for i, o := range objects {
			if o.kind() == "Namespace" && o.name() == mallory {
				o = o.clone()
				o.deleted(s.ending, "example.com/keep")
				delete(o.meta(), "finalizers")
				o.field("status")["phase"] = "Terminating"
				objects[i] = o
			}
		}
	}
	return append(objects, s.objects...)
}

// String says what the attack is.
func (a *attack) String() string {
	what := fmt.Sprintf("%s takes %s from %s of %s", a.by, a.victim.host, a.victim.by, a.victim.namespace)
	if a.victim.host == "" {
		what = "opens its namespace by " + a.how
	}
	return fmt.Sprintf("%s, with the tricks %q", what, a.tricks)
}

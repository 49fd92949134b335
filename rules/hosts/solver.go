package hosts

import (
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Solvers of ACME HTTP01 challenges. cert-manager creates them in the namespace of the
// Certificate, where they borrow its host for a minute. Their label, owner reference and
// paths are written by whoever writes the object, and whoever answers a challenge obtains
// a certificate for the host. So what matters is where a solver is: only where its
// namespace holds the host anyway does it take nothing from anyone.

// isSolver reports whether an Ingress has the marks of an HTTP01 solver: cert-manager's
// label, an owning Challenge, only challenge paths, and no further host by annotation.
func isSolver(ing *snapshot.Ingress) bool {
	if !ing.SolverLabel || !ing.ChallengeOwner || !ing.ChallengePaths || len(ing.Unreadable)+len(ing.Expressions) > 0 {
		return false
	}
	for _, h := range ing.Hosts {
		if h.Source != snapshot.FromRule {
			return false
		}
	}
	return true
}

// isSolverRoute reports whether a route has the marks of an HTTP01 solver: cert-manager's
// label, an owning Challenge, only challenge paths, and no further host of a host source.
func isSolverRoute(route *snapshot.Route) bool {
	return route.SolverLabel && route.ChallengeOwner && route.ChallengePaths &&
		(route.Published == nil || len(route.Published.Hosts) == 0 && route.Published.Err == "")
}

// dropSolvers removes the claims of solvers that take nothing from anyone.
func (c *claims) dropSolvers(in rules.Input) {
	for host, list := range c.byHost {
		if !slices.ContainsFunc(list, func(s *claim) bool { return s.solver }) {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(list), func(s *claim) bool {
			return s.solver && (in.TrustedSolver != nil && in.TrustedSolver(s.object.Namespace) || holds(list, s))
		})
		if len(kept) == 0 {
			delete(c.byHost, host)
			continue
		}
		c.byHost[host] = kept
	}
}

// dropCopies removes the claims that repeat another one. OpenShift Serverless keeps Routes
// in its own namespace for objects in others. The marks that say so are written by whoever
// writes the Route, so one is a copy only of a claim that is there. Whoever can write in
// that namespace can still make a Route look like one for a DomainMapping that claims the
// host.
func (c *claims) dropCopies() {
	for host, list := range c.byHost {
		if !slices.ContainsFunc(list, func(s *claim) bool { return s.copyOf != nil }) {
			continue
		}
		c.byHost[host] = slices.DeleteFunc(slices.Clone(list), func(s *claim) bool { return s.copyOf != nil && repeats(list, s) })
	}
}

// repeats reports whether a claim repeats another one to the same host, which stays.
func repeats(list []*claim, s *claim) bool {
	return slices.ContainsFunc(list, func(c *claim) bool { return c.copyOf == nil && c.object.Ref() == *s.copyOf })
}

// holds reports whether the namespace of a solver holds the host that it answers for: it
// has another claim of that host, or a Gateway to which another claimant attaches.
func holds(list []*claim, solver *claim) bool {
	at := solver.object.Namespace
	return slices.ContainsFunc(list, func(c *claim) bool {
		if c.solver {
			return false
		}
		return c.object.Namespace == at && c.takesPortsOf(solver) || slices.Contains(c.gateways, at)
	})
}

// takesPortsOf reports whether a claim takes the traffic of another one to the same
// host. Only claims to catch-alls are to some ports.
func (c *claim) takesPortsOf(o *claim) bool {
	onEveryPort := func(l snapshot.Lane) bool { return l.Port == 0 }
	if len(c.lanes) == 0 || slices.ContainsFunc(c.lanes, onEveryPort) {
		return true
	}
	if len(o.lanes) == 0 {
		return false
	}
	return !slices.ContainsFunc(o.lanes, func(l snapshot.Lane) bool {
		return !slices.ContainsFunc(c.lanes, func(own snapshot.Lane) bool { return own.Port == l.Port })
	})
}

// solves is the detail of a solver in a finding.
const solves = "an ACME HTTP01 solver: whoever answers the challenge obtains a certificate for the host"

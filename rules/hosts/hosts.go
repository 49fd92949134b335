// Package hosts is the rule one-owner-per-host: a host is claimed by the objects
// of one owner.
package hosts

import (
	"fmt"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/admission"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule returns the rule that a host belongs to one owner.
//
// It needs no ReferenceGrants. By the Gateway API those are for references that
// have no say on their other side, such as backends and certificates; without
// one a route or a listener fails, but it does not give up its host. Who may
// attach to a Gateway or a ListenerSet across namespaces these say themselves,
// by allowedRoutes and allowedListeners.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "one-owner-per-host",
		Doc: `every host is claimed by the objects of one owner

Two owners that claim one host share its traffic in a way that neither chose:
controllers merge their paths, or let the older win, or the newer. A finding is
one host pattern that live objects of at least two owners claim, whatever the
path, the class, the kind, the age or a canary annotation.

Claims are spec.rules[].host, the server-alias annotation of ingress-nginx, the
hostname annotation of external-dns and host-header conditions of the AWS load
balancer controller. An empty host, or a default backend without rules, claims
every host of its class where the class shares one proxy. spec.tls claims
nothing.

HTTPRoutes, GRPCRoutes and TLSRoutes claim what their hostnames have in common
with each listener that they may attach to, by its section, port, protocol,
kinds and namespaces; without hostnames, those of the listener; where it has
none either, every host of the Gateway. Whether a controller accepted them does
not matter. The hostnames of a ListenerSet that its Gateway admits are claims,
too. Gateways claim nothing, and neither does a route on a Service.

Objects of other kinds claim what the hostSources of the config read from them.
Ready-made ones know OpenShift's Routes, Istio's VirtualServices at a gateway,
Traefik's IngressRoutes, Contour's HTTPProxies and Knative's DomainMappings. An
object whose hosts cannot be read or compared is an advisory.

Objects being deleted and genuine ACME solvers claim nothing.

A wildcard of one owner over an exact host of another is an advisory: serving
the more specific name is what wildcards are for. So is an owner's host that
stands in the spec.tls of another.`,
		Severity: rules.High,
		Subject:  rules.SubjectHost,
		Needs: []snapshot.Kind{
			snapshot.Gateways, snapshot.GRPCRoutes, snapshot.HostSources, snapshot.HTTPRoutes, snapshot.IngressClasses, snapshot.Ingresses,
			snapshot.ListenerSets, snapshot.Namespaces, snapshot.TLSRoutes, snapshot.XListenerSets,
		},
		Uses: snapshot.AdmissionKinds(),
		Run:  run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	c := &claims{byHost: map[string][]*claim{}}
	ingressClaims(c, in)
	gatewayClaims(c, in)
	hostObjectClaims(c, in)

	res := rules.Result{Unread: unreadObjects(in)}
	g := admission.NewEvidence(in.View)
	for host, list := range c.byHost {
		if contested(list) {
			res.Violations = append(res.Violations, hostViolation(host, list, g))
		}
	}
	res.Advisories = append(res.Advisories, coveredHosts(c)...)
	res.Advisories = append(res.Advisories, tlsOnlyHosts(c, in)...)
	res.Advisories = append(res.Advisories, unreadableClaims(in)...)
	res.Advisories = append(res.Advisories, unreadHosts(in)...)
	res.Advisories = append(res.Advisories, contradictions(in)...)
	return res, nil
}

func hostViolation(host string, list []*claim, g *admission.Evidence) rules.Violation {
	objects := claimants(list)
	what := "Host " + host
	if isCatchAll(host) {
		what = "Every host that nobody else claims, " + host + ","
	}
	return rules.Violation{
		Subject: rules.Subject{Kind: rules.SubjectHost, Name: host},
		Verdict: "contested",
		Owners:  owners(list),
		Message: fmt.Sprintf("%s is claimed by %s.", what, describeClaimants(objects)),
		Cause:   hostCause(list, g),
		Remedy: "Agree which owner keeps it; the others take it out of their objects. Until then it depends on " +
			"the controller who gets the traffic. The sweep reads what is stored, so applying an object again does not help.",
		Objects: objects,
	}
}

// namedClaimants is how many claimants a message names; the finding lists all.
const namedClaimants = 5

// describeClaimants names the claimants, the oldest first, each with its owner
// and its age as a date: an age in days would change from sweep to sweep.
func describeClaimants(objects []rules.Object) string {
	var parts []string
	for _, o := range objects[:min(len(objects), namedClaimants)] {
		owner := o.Owner
		if owner == "" {
			owner = "nobody known"
		}
		part := fmt.Sprintf("%s of %s", o.Ref, owner)
		if !o.Created.IsZero() {
			part += " (since " + rules.Timestamp(o.Created) + ")"
		}
		parts = append(parts, part)
	}
	if more := len(objects) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

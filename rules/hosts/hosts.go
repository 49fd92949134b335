// Package hosts is the rule one-owner-per-host: a host is claimed by the objects
// of one owner.
package hosts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/admission"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule returns the rule that a host belongs to one owner.
//
// It does not need ReferenceGrants. In the Gateway API they protect references
// whose target has no other say, such as backends and certificates; without one a
// route or a listener fails, but still claims its host. Gateways and ListenerSets
// say themselves who may attach to them across namespaces, in allowedRoutes and
// allowedListeners.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "one-owner-per-host",
		Doc: `every host is claimed by the objects of one owner

Two owners that claim the same host share its traffic in a way that neither of
them chose: the controller merges their paths, or lets the older or the newer
object win. A finding is one host pattern that live objects of at least two
owners claim, whatever the path, class, kind, age or canary annotation.

Ingresses claim hosts in spec.rules[].host and in annotations. An empty host, or
a default backend without rules, claims every host of its class if the class
shares one proxy. spec.tls claims nothing. What cannot be a host, such as the
placeholder of a template or a URL, is an advisory.

These annotations of controllers are read: server-alias of ingress-nginx,
server-alias and redirect-from of HAProxy Ingress, host-aliases of Kong,
hostname-extension of Application Gateway, and the host conditions of the load
balancer controllers of AWS and Alibaba Cloud. An annotation claims nothing if the
class is known to belong to a controller that does not read it; a class of an
unknown controller may read all. Prefixes of annotations that a controller was
given by a flag, and snippets, are not read.

A regular expression, or a host with an asterisk inside or at its end, is a claim to
each name that it stands for if these are few: a literal, an alternation, classes of
few letters, optional parts. A dot that is not escaped stands for a dot. What matches
more is compared with the hosts that others claim. Where the controller serves every
exact name first (ingress-nginx, HAProxy Ingress, Kong), a match is an advisory to
both owners; elsewhere it is a claim to that host, and to a wildcard if it matches
names below it that nobody chose. Two owners of the same text contest it. One that
matches every host is a catch-all. What RE2 cannot read, or costs too much, counts as
not read: the sweep is incomplete, and no finding that an object of its namespace is
part of is resolved. So do conditions for a load balancer that are not JSON, and a Traefik rule
that cannot be parsed or is longer than 64 KiB.

The hostname annotation of external-dns is read from an Ingress of any class,
below each prefix in hosts.externalDNSPrefixes. It claims nothing if, below the
same prefix, controller is not dns-controller, or ingress-hostname-source is not
annotation-only. Filters and templates of external-dns are not read.

Ingresses of the AWS controllers that are in one group share a load balancer, even
if their classes differ. The group in the IngressClassParams of the class wins
over the annotation of the Ingress; the namespaceSelector there is not read. If
the parameters of a class are not found, that is an advisory.

Two such catch-alls conflict unless status.loadBalancer has different addresses
for them, which holds for any controller; while one of them has no address, they
conflict. Controllers with a load balancer for each Ingress are known without an
address: those of GKE, AWS and Tailscale, and Cilium where the Ingress asks for
mode dedicated. The default mode in Cilium's settings is not read.

HTTPRoutes, GRPCRoutes and TLSRoutes claim the intersection of their hostnames
with each listener that they may attach to, by section name, port, protocol,
kinds and namespaces. A route without hostnames claims those of the listener; if
the listener has none either, it claims every host of the Gateway on the port of
the listener, and conflicts with others on that port only. Whether a controller
accepted the route does not matter. The hostnames of a ListenerSet
that its Gateway admits are claims too. Gateways claim nothing, and neither does
a route attached to a Service.

Objects of other kinds claim the hosts that the hostSources of the config read
from them. Built-in host sources cover OpenShift Routes, Istio VirtualServices
on a gateway, Traefik IngressRoutes, Contour HTTPProxies, Knative
DomainMappings, VirtualServers and TransportServers for TLS passthrough of
NGINX Ingress Controller, Emissary Mappings, ApisixRoutes, Skipper RouteGroups,
VirtualServices of Gloo, VirtualServers of F5, TCPIngresses of Kong, and the
names that a DNSEndpoint of external-dns gives an address. A VirtualServerRoute
claims nothing by itself. An Emissary Mapping, ApisixRoute or RouteGroup for
every host is not compared, but resolves no finding that it was part of; one that asks
for every host by an expression counts as not read. The host sources for what external-dns publishes for
Services and routes of the Gateway API are off until the config mentions them.
Other kinds that carry hosts and are known, such as Emissary's Host, are not
read: where there are objects of them, that is an advisory with the setting that
turns their host source on. An object whose hosts cannot be read counts as not
read. A value that nothing serves as a host, such as a placeholder or a URL, is an
advisory; a port behind a host is ignored. A value that begins with a tilde, or has
characters that only regular expressions have, is one.

A VirtualService claims nothing at a Gateway of Istio none of whose servers takes
the host from its namespace (servers[].hosts); a Gateway that is not there or
cannot be read may take it. VirtualServices for the host * conflict at one
Gateway unless the paths of all their routes differ (uri by exact, prefix, or
what a regex begins with), or their ports, or HTTP, TLS and TCP; routes with an
exact authority or SNI hosts claim those hosts instead. Other conditions, such as
headers, and exportTo are not read.

A Traefik IngressRouteTCP with HostSNI(*) claims every connection of its entry
points, with TLS or without, in the Traefik of its class; ClientIP and ALPN are not
read. One with an expression that every name matches goes before the hosts of all
IngressRoutes there. An IngressRoute takes every host of its entry points if an alternative of a
rule has no condition on the host, one that every host meets, or only negated ones. So
does an Ingress of Traefik without a host. Two of them conflict at one entry point
unless their paths differ; conditions on clients, headers, methods and queries are not
read. Such a router is also a finding, one for its entry point, if its priority, by
default the length of its rule, is higher than that of a router of another owner for a
certain host, whatever the paths. A router that names no entry point is at every one
but traefik, and the routers of Ingresses are those of the IngressRoutes without a
class if the Ingresses have one class of Traefik.

An object that is being deleted, alone or with its Namespace, claims until it is
gone: a finalizer may hold it, and controllers go on serving it. A conflict that
rests only on deletions younger than ten minutes is pending, and is opened if
another sweep sees a conflict on the host. An older deletion is stuck, and the
finding names what holds it.

A solver of ACME HTTP01 challenges, by the marks of cert-manager, claims nothing in
a namespace that itself holds another claim of that exact host, in the namespace of
a Gateway to which another claimant of the host attaches, and in the namespaces in
hosts.trustedSolvers. Anywhere else it is a claim: anyone can write its marks, and
whoever answers the challenge obtains a certificate for the host.

An OpenShift Route with the marks of a solver is treated as one. A Route of OpenShift
Serverless for a DomainMapping in another namespace is left out only where that
DomainMapping claims its host.

A wildcard of one owner over an exact host of another is an advisory, because
serving the more specific name is what wildcards are for. So is a host that
appears in spec.tls of another owner's Ingress.`,
		Severity: rules.High,
		Subject:  rules.SubjectHost,
		Needs: []snapshot.Kind{
			snapshot.Gateways, snapshot.GRPCRoutes, snapshot.HostSources, snapshot.HTTPRoutes, snapshot.IngressClasses,
			snapshot.EKSIngressClassParams, snapshot.AWSIngressClassParams, snapshot.Ingresses,
			snapshot.ListenerSets, snapshot.Namespaces, snapshot.TLSRoutes, snapshot.XListenerSets,
		},
		Uses: append([]snapshot.Kind{snapshot.IstioGateways}, snapshot.AdmissionKinds()...),
		Run:  run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	c := &claims{view: in.View, now: in.Now, byHost: map[string][]*claim{}}
	x := &expressions{claims: c}
	classes := newClasses(in.View)
	ingressClaims(c, x, in, classes)
	gatewayClaims(c, in)
	points := newEntryPoints()
	hostObjectClaims(c, x, points, in)
	points.addIngresses(c, in, classes)
	points.addTo(c)
	c.dropCopies()
	c.dropSolvers(in)

	matched := x.compare()

	res := rules.Result{Unread: slices.Concat(unreadObjects(in), unreadFields(in, classes), x.unread), Dependent: dependents(in), Advisories: matched}
	res.UnreadIn = unreadIn(in, res.Unread)
	evidence := admission.NewEvidence(in.View)
	outranked := points.outranked()
	for host := range outranked {
		if _, ok := c.byHost[host]; !ok {
			c.byHost[host] = nil // a conflict without a claim to the catch-all itself
		}
	}
	for host, list := range c.byHost {
		var v rules.Violation
		var found bool
		if err := rules.Safely(func() { v, found = contested(host, list, outranked[host], evidence, in.View) }); err != nil {
			res.NotEvaluated = append(res.NotEvaluated, rules.Subject{Kind: rules.SubjectHost, Name: host})
			for _, one := range list {
				c.fail(one.object, err)
			}
			continue
		}
		if found {
			res.Violations = append(res.Violations, v)
		}
	}
	res.Unread = append(res.Unread, c.failed...)
	res.Advisories = append(res.Advisories, coveredHosts(c)...)
	res.Advisories = append(res.Advisories, tlsOnlyHosts(c, in)...)
	res.Advisories = append(res.Advisories, unreadableClaims(in, classes)...)
	res.Advisories = append(res.Advisories, missingParameters(in, classes)...)
	res.Advisories = append(res.Advisories, unreadHosts(in)...)
	res.Advisories = append(res.Advisories, unreadKinds(in)...)
	res.Advisories = append(res.Advisories, contradictions(in)...)
	return res, nil
}

// contested returns the violation on a host, and whether there is one.
func contested(host string, list, outranked []*claim, evidence *admission.Evidence, view *snapshot.View) (rules.Violation, bool) {
	conflict := contest(host, list, outranked, verifiedID)
	if conflict == nil {
		return rules.Violation{}, false
	}
	v := hostViolation(host, conflict, evidence)
	// What is about to go neither opens a finding nor makes it more severe.
	stays, before := settled(list), settled(outranked)
	if v.Provisional = contest(host, stays, before, verifiedID) == nil; v.Provisional {
		stays, before = list, outranked
	}
	if contest(host, stays, before, nameID) == nil {
		unverified(&v, conflict, view)
	}
	return v, true
}

// contest returns the claims to a host that conflict, nil if they do not. To a catch-all
// these are those that meet and those to hosts that it goes before. Which owners differ is
// up to id.
func contest(host string, list, outranked []*claim, id func(*claim) rules.OwnerID) []*claim {
	if isCatchAll(host) {
		list = union(outranked, meeting(list, id))
	}
	if !slices.ContainsFunc(list, func(c *claim) bool { return id(c) != id(list[0]) }) {
		return nil
	}
	return list
}

// union returns the claims of both lists, one of each object: of two the first.
func union(first, second []*claim) []*claim {
	if len(first) == 0 {
		return second
	}
	list := slices.Clone(first)
	listed := map[*snapshot.Meta]bool{}
	for _, c := range first {
		listed[c.object] = true
	}
	for _, c := range second {
		if !listed[c.object] {
			list = append(list, c)
		}
	}
	return list
}

func hostViolation(host string, list []*claim, evidence *admission.Evidence) rules.Violation {
	objects := claimants(list)
	what := "Host " + host
	if isExpression(host) {
		what = "The regular expression " + quoted(host[1:])
	}
	if isCatchAll(host) {
		what = "The catch-all host " + host
	}
	return rules.Violation{
		Subject: rules.Subject{Kind: rules.SubjectHost, Name: host},
		Verdict: "contested",
		Culprit: culprit(list),
		Owners:  owners(list),
		Message: fmt.Sprintf("%s is claimed by %s.", what, describeClaimants(objects)) + describeLeaving(oldestFirst(list)),
		Cause:   hostCause(list, evidence),
		Remedy: "Agree on which owner keeps the host, and remove it from the objects of the others. Until then the " +
			"controller decides who gets the traffic. Applying an object again does not help: the sweep reads what is stored." + releaseHeld(list),
		Objects: objects,
	}
}

// unverified makes a violation one that exists only because owners are not believed. The
// Namespaces may own nothing, or not be among what was read: manifests often lack them.
func unverified(v *rules.Violation, list []*claim, view *snapshot.View) {
	var bare, missing []string
	for _, c := range list {
		switch at := c.object.Namespace; {
		case !c.owner.Unverified:
		case view.Namespace(at) == nil:
			missing = append(missing, at)
		default:
			bare = append(bare, at)
		}
	}
	var why, what []string
	if len(bare) > 0 {
		names := namespaces(bare)
		why = append(why, "no owner is known of "+names)
		what = append(what, "Find out who owns "+names+", and set one of the configured owner keys there, or add it to a team in the config (owners.teams).")
	}
	if len(missing) > 0 {
		names := namespaces(missing)
		why = append(why, "what was read does not include "+names)
		what = append(what, "Add "+names+" to the manifests, with one of the configured owner keys, or to a team in the config (owners.teams).")
	}
	v.Verdict, v.Downgrade = "unverified", 1
	v.Message += " The owner that objects name is not verified, because " + strings.Join(why, ", and ") + ": anyone who can write there can name any."
	v.Remedy = strings.Join(what, " ") + " If that is the owner of the other claimants, this resolves the finding. If not: " + v.Remedy
}

// namespaces names some Namespaces.
func namespaces(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	text := "Namespace "
	if len(names) > 1 {
		text = "Namespaces "
	}
	text += strings.Join(names[:min(len(names), namedClaimants)], ", ")
	if more := len(names) - namedClaimants; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// describeClaimants names the claimants, oldest first, each with its owner and its
// creation time: an age in days would change from sweep to sweep.
func describeClaimants(objects []rules.Object) string {
	var parts []string
	for _, o := range objects[:min(len(objects), namedClaimants)] {
		part := o.Ref.String() + " with no owner"
		if o.Owner != "" {
			part = fmt.Sprintf("%s of %s", o.Ref, o.Owner)
		}
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

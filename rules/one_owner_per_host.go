package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// OneOwnerPerHost is the rule that a host belongs to one owner.
func OneOwnerPerHost() *Rule {
	return &Rule{
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
nothing. Objects being deleted and genuine ACME solvers claim nothing.

A wildcard of one owner over an exact host of another is an advisory: serving
the more specific name is what wildcards are for. So is an owner's host that
stands in the spec.tls of another.`,
		Severity: High,
		Subject:  SubjectHost,
		Needs:    []snapshot.Kind{snapshot.IngressClasses, snapshot.Ingresses, snapshot.Namespaces},
		Run:      runOneOwnerPerHost,
	}
}

func runOneOwnerPerHost(in Input) (Result, error) {
	c := &claims{byHost: map[string][]*claim{}}
	ingressClaims(c, in)

	var res Result
	for host, list := range c.byHost {
		if contested(list) {
			res.Violations = append(res.Violations, hostViolation(host, list))
		}
	}
	res.Advisories = append(res.Advisories, coveredHosts(c)...)
	res.Advisories = append(res.Advisories, tlsOnlyHosts(c, in)...)
	res.Advisories = append(res.Advisories, unreadableClaims(in)...)
	res.Advisories = append(res.Advisories, contradictions(in)...)
	return res, nil
}

func hostViolation(host string, list []*claim) Violation {
	objects := claimants(list)
	what := "Host " + host
	if isCatchAll(host) {
		what = "Every host that nobody else claims, " + host + ","
	}
	return Violation{
		Subject: Subject{Kind: SubjectHost, Name: host},
		Verdict: "contested",
		Owners:  owners(list),
		Message: fmt.Sprintf("%s is claimed by %s.", what, describeClaimants(objects)),
		Cause:   hostCause(objects),
		Remedy: "Agree which owner keeps it; the others take it out of their objects. Until then it depends on " +
			"the controller who gets the traffic. The sweep reads what is stored, so applying an object again does not help.",
		Objects: objects,
	}
}

// namedClaimants is how many claimants a message names; the finding lists all.
const namedClaimants = 5

// describeClaimants names the claimants, the oldest first, each with its owner
// and its age as a date: an age in days would change from sweep to sweep.
func describeClaimants(objects []Object) string {
	var parts []string
	for _, o := range objects[:min(len(objects), namedClaimants)] {
		owner := o.Owner
		if owner == "" {
			owner = "nobody known"
		}
		part := fmt.Sprintf("%s of %s", o.Ref, owner)
		if !o.Created.IsZero() {
			part += " (since " + moment(o.Created) + ")"
		}
		parts = append(parts, part)
	}
	if more := len(objects) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sameMoment is how far apart two creations may be for admission to have seen
// neither object when it judged the other: timestamps are cut to seconds, and
// the clocks of API servers differ a little.
const sameMoment = 2 * time.Second

// hostCause says what the ages of the claimants tell. They are sorted by
// creation.
func hostCause(objects []Object) string {
	oldest, newest := objects[0], objects[len(objects)-1]
	if oldest.Created.IsZero() || newest.Created.IsZero() {
		return "The age of some claimants is not known, so how they got past admission cannot be told."
	}
	gap := newest.Created.Sub(oldest.Created)
	if gap <= sameMoment {
		return fmt.Sprintf("All claimants were created within %s: consistent with a race, in which admission "+
			"let each through before it could see the others.", seconds(gap))
	}
	return fmt.Sprintf("%s was there %s before %s: no race, since the later one could be seen to collide. "+
		"The gate was absent, off, exempt, bypassed or far behind, or the host came by a later edit.",
		oldest.Ref, Age(gap), newest.Ref)
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return "the same second"
	}
	return plural(int(d/time.Second), "second")
}

// Age returns a duration as people read ages: days from two days on, hours from
// two hours on, minutes from two minutes on, else seconds.
func Age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	}
	return fmt.Sprintf("%ds", int(d/time.Second))
}

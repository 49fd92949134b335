package isolation_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// tierCluster is one namespace under policies of several tiers, in the form that
// the objects of every engine are turned into.
type tierCluster struct {
	Pods     []map[string]string
	Policies []snapshot.Policy
	// Unsupported are kinds that may be in the namespace beside them.
	Unsupported []snapshot.Unsupported
}

// tierNamespace is the namespace of the pods, and of the policies that have one.
const tierNamespace = "team-a"

func drawTierCluster(from source) tierCluster { return (&packetDraw{source: from}).tierCluster() }

// drawDoubtfulCluster draws a cluster of which something is not known.
func drawDoubtfulCluster(from source) tierCluster {
	d := &packetDraw{source: from, unknownSets: true}
	c := d.tierCluster()
	u := snapshot.Unsupported{Kind: "kinds.example.com", Namespace: oneOf(d, tierNamespace, ""), Restricts: !d.in(4)}
	u.Directions[snapshot.DirectionEgress] = true
	if d.in(2) {
		c.Unsupported = []snapshot.Unsupported{u}
	}
	return c
}

func (d *packetDraw) tierCluster() (c tierCluster) {
	for range d.IntN(4) {
		labels := map[string]string{}
		if d.in(2) {
			labels["app"] = oneOf(d, "web", "db")
		}
		// The account of a pod is among its labels, as selectors have it.
		labels[snapshot.ServiceAccountKey] = oneOf(d, "web", "default")
		c.Pods = append(c.Pods, labels)
	}
	for i := range 1 + d.IntN(5) {
		c.Policies = append(c.Policies, d.tierPolicy(i))
	}
	return c
}

// tierPolicy draws a policy of any tier. No two have the same order.
func (d *packetDraw) tierPolicy(i int) snapshot.Policy {
	p := snapshot.Policy{
		Meta:  snapshot.Meta{Group: "example.com", Kind: "Policy", Name: fmt.Sprintf("p%d", i)},
		Tier:  oneOf(d, snapshot.TierAdmin, snapshot.TierDefault, snapshot.TierDefault, snapshot.TierBaseline),
		Order: float64(10*d.IntN(100) + i),
	}
	subject := snapshot.PodPeer{Pods: oneOf(d, nil, nil, nil, has("app"), hasNot("app"), is("app", "web"),
		is(snapshot.ServiceAccountKey, "web"), isNot(snapshot.ServiceAccountKey, "web"))}
	if d.in(3) {
		p.Namespace, subject.OwnNamespace = tierNamespace, true
	}
	p.Subject = snapshot.Subject{subject}
	for _, dir := range snapshot.Directions() {
		p.Isolates[dir] = d.in(3)
		for range d.IntN(4) {
			p.Rules[dir] = append(p.Rules[dir], d.tierRule(p.Namespace != "", oneOf(d, snapshot.Allow, snapshot.Allow, snapshot.Deny, snapshot.Pass)))
		}
		if d.in(5) {
			p.Denies[dir] = append(p.Denies[dir], d.tierRule(false, snapshot.Deny))
		}
	}
	return p
}

func is(key, value string) snapshot.Selector {
	return snapshot.Selector{{Key: key, Op: snapshot.In, Values: []string{value}}}
}

func isNot(key, value string) snapshot.Selector {
	return snapshot.Selector{{Key: key, Op: snapshot.NotIn, Values: []string{value}}}
}

func has(key string) snapshot.Selector { return snapshot.Selector{{Key: key, Op: snapshot.Exists}} }

func hasNot(key string) snapshot.Selector {
	return snapshot.Selector{{Key: key, Op: snapshot.DoesNotExist}}
}

// tierRule draws a rule. What is denied or passed is denied or passed to a whole
// class: by design such rules for some peers only do not count, and to packets they
// would.
func (d *packetDraw) tierRule(namespaced bool, action snapshot.Action) snapshot.Rule {
	r := snapshot.Rule{Action: action, Ports: d.tierPorts()}
	blocks := func(cidrs ...string) (list []snapshot.CIDR) {
		for _, cidr := range cidrs {
			list = append(list, snapshot.CIDR{Prefix: netip.MustParsePrefix(cidr)})
		}
		return list
	}
	all := snapshot.PodPeer{}
	r.Peers = oneOf(d, snapshot.Peers{Everyone: true}, snapshot.Peers{Everyone: true}, snapshot.Peers{Internet: true},
		snapshot.Peers{Pods: []snapshot.PodPeer{all}}, snapshot.Peers{Pods: []snapshot.PodPeer{all}, Internet: true}, snapshot.Peers{CIDRs: blocks("0.0.0.0/0", "::/0")})
	if action != snapshot.Allow || d.in(3) {
		d.intoSets(&r.Peers)
		return r
	}
	some := snapshot.Peers{CIDRs: blocks("0.0.0.0/1"), Pods: []snapshot.PodPeer{{Namespaces: has("env")}}}
	others := snapshot.Peers{CIDRs: blocks("128.0.0.0/1"), Pods: []snapshot.PodPeer{{Namespaces: hasNot("env")}}}
	r.Peers = oneOf(d, some, some, others, others, snapshot.Peers{CIDRs: some.CIDRs}, snapshot.Peers{Pods: others.Pods},
		snapshot.Peers{Pods: []snapshot.PodPeer{{Pods: is("app", "web")}, {Pods: isNot("app", "web")}}},
		snapshot.Peers{Pods: []snapshot.PodPeer{{Namespaces: isNot("kubernetes.io/metadata.name", tierNamespace)}}})
	// Only a policy of a namespace has one of its own.
	if !namespaced && len(r.Peers.Pods) == 1 && slices.ContainsFunc(r.Peers.Pods[0].Namespaces, func(r snapshot.Requirement) bool { return r.Op == snapshot.NotIn }) {
		r.Peers.Pods[0].Namespaces = hasNot("env")
	}
	if namespaced && d.in(4) {
		r.Peers = snapshot.Peers{Pods: []snapshot.PodPeer{{OwnNamespace: true}}}
	}
	r.Narrow = d.in(10)
	d.intoSets(&r.Peers)
	return r
}

// intoSets sometimes makes peers refer to sets of the same addresses, by name or label.
// In a cluster with unknown sets it sometimes makes them refer to one of these.
func (d *packetDraw) intoSets(p *snapshot.Peers) {
	names := map[string]string{"0.0.0.0/0": "v4", "::/0": "v6", "0.0.0.0/1": "lower", "128.0.0.0/1": "upper"}
	if len(p.CIDRs) == 0 || d.in(2) {
		return
	}
	unknown := d.unknownSets && d.in(2) // all of them, so that they are a whole class or nothing
	for _, b := range p.CIDRs {
		set := snapshot.SetPeer{Engine: snapshot.CiliumSets, Name: names[b.Prefix.String()]}
		if d.in(2) {
			set.Name, set.Labels = "", []snapshot.Selector{is("set", set.Name)}
		}
		if unknown {
			set.Name, set.Labels = "unknown", nil
		}
		p.Sets = append(p.Sets, set)
	}
	p.CIDRs = nil
}

// tierSets are the sets that the rules drawn here refer to.
func tierSets() map[string]string {
	return map[string]string{"v4": "0.0.0.0/0", "v6": "::/0", "lower": "0.0.0.0/1", "upper": "128.0.0.0/1"}
}

// withSets returns the cluster with the addresses of sets in their place. unknown are those
// of the set that is not known.
func (c tierCluster) withSets(unknown ...string) tierCluster {
	c.Policies = slices.Clone(c.Policies)
	for i := range c.Policies {
		p := &c.Policies[i]
		for _, d := range snapshot.Directions() {
			p.Denies[d], p.Rules[d] = inlineSets(p.Denies[d], unknown), inlineSets(p.Rules[d], unknown)
		}
	}
	return c
}

func inlineSets(list []snapshot.Rule, unknown []string) []snapshot.Rule {
	list = slices.Clone(list)
	for i := range list {
		p := &list[i].Peers
		for _, s := range p.Sets {
			cidrs := []string{tierSets()[s.Name]}
			switch {
			case s.Name == "unknown":
				cidrs = unknown
			case s.Name == "":
				cidrs = []string{tierSets()[s.Labels[0][0].Values[0]]}
			}
			for _, cidr := range cidrs {
				p.CIDRs = append(slices.Clip(p.CIDRs), snapshot.CIDR{Prefix: netip.MustParsePrefix(cidr)})
			}
		}
		p.Sets = nil
	}
	return list
}

func (d *packetDraw) tierPorts() snapshot.Ports {
	protocols := []snapshot.Protocol{snapshot.TCP, snapshot.UDP, snapshot.SCTP}[:1+d.IntN(3)]
	span := oneOf(d, [2]int32{0, 65535}, [2]int32{1, 65535}, [2]int32{53, 53}, [2]int32{1, 1023}, [2]int32{1024, 65535}, [2]int32{1, 4095}, [2]int32{1, 4096}, [2]int32{1, 40000})
	if d.in(2) {
		return snapshot.Ports{All: true}
	}
	var out snapshot.Ports
	for _, protocol := range protocols {
		out.Ranges = append(out.Ranges, snapshot.PortRange{Protocol: protocol, First: span[0], Last: span[1]})
	}
	return out
}

// String returns the policies as they are consulted.
func (c tierCluster) String() string {
	lines := []string{fmt.Sprintf("pods %v", c.Pods)}
	for _, p := range c.inOrder() {
		lines = append(lines, fmt.Sprintf("%s %q tier %g order %g subject %+v isolates %v", p.Name, p.Namespace, p.Tier, p.Order, p.Subject, p.Isolates))
		for _, d := range snapshot.Directions() {
			for _, r := range slices.Concat(p.Denies[d], p.Rules[d]) {
				lines = append(lines, fmt.Sprintf("  %s %s %+v on %+v narrow %v", d, []string{"allow", "deny", "pass"}[r.Action], r.Peers, r.Ports, r.Narrow))
			}
		}
	}
	return strings.Join(lines, "\n")
}

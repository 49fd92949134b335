package policy

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func ranges(p snapshot.Protocol, bounds ...int32) []snapshot.PortRange {
	var out []snapshot.PortRange
	for i := 0; i < len(bounds); i += 2 {
		out = append(out, snapshot.PortRange{Protocol: p, First: bounds[i], Last: bounds[i+1]})
	}
	return out
}

func TestPortsOfARuleHoldEveryPort(t *testing.T) {
	for _, c := range []struct {
		name   string
		ranges []snapshot.PortRange
		want   bool
	}{
		{"no range", nil, false},
		{"the whole range", ranges(snapshot.TCP, 1, 65535), true},
		{"the whole range from zero on", ranges(snapshot.TCP, 0, 65535), true},
		{"without the first port", ranges(snapshot.TCP, 2, 65535), false},
		{"without the last port", ranges(snapshot.TCP, 1, 65534), false},
		{"two ranges that touch", ranges(snapshot.TCP, 1, 1023, 1024, 65535), true},
		{"two ranges that overlap, the higher first", ranges(snapshot.TCP, 1000, 65535, 1, 1023), true},
		{"a range inside another does not shorten it", ranges(snapshot.TCP, 1, 65535, 80, 80), true},
		{"a gap of one port", ranges(snapshot.TCP, 1, 8079, 8081, 65535), false},
		{"the rest in another protocol", append(ranges(snapshot.TCP, 1, 1023), ranges(snapshot.UDP, 1024, 65535)...), false},
		{"a range that ends before it begins", ranges(snapshot.TCP, 65535, 1), false},
		{"a range that ends behind the last port", ranges(snapshot.TCP, 1, 1<<31-1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := portsOf(snapshot.Ports{Ranges: c.ranges}, snapshot.TCP).all(); got != c.want {
				t.Errorf("all ports: %v, want %v", got, c.want)
			}
		})
	}
}

// Peers and ports of the rules below.
func everyone() snapshot.Peers { return snapshot.Peers{Everyone: true} }

func everyPod() snapshot.Peers { return snapshot.Peers{Pods: []snapshot.PodPeer{{}}} }

func blocks(cidrs ...string) snapshot.Peers {
	var p snapshot.Peers
	for _, c := range cidrs {
		p.CIDRs = append(p.CIDRs, snapshot.CIDR{Prefix: netip.MustParsePrefix(c)})
	}
	return p
}

func namespaces(s ...snapshot.Requirement) snapshot.Peers {
	return snapshot.Peers{Pods: []snapshot.PodPeer{{Namespaces: s}}}
}

func whole(of ...snapshot.Protocol) snapshot.Ports {
	var p snapshot.Ports
	for _, protocol := range of {
		p.Ranges = append(p.Ranges, ranges(protocol, 1, 65535)...)
	}
	return p
}

func TestReachOf(t *testing.T) {
	all := snapshot.Ports{All: true}
	tcp := whole(snapshot.TCP)
	low, high := snapshot.Ports{Ranges: ranges(snapshot.TCP, 1, 32767)}, snapshot.Ports{Ranges: ranges(snapshot.TCP, 32768, 65535)}
	own := snapshot.Peers{Pods: []snapshot.PodPeer{{OwnNamespace: true}}}
	type rules []struct {
		from snapshot.Peers
		on   snapshot.Ports
	}
	for _, c := range []struct {
		name  string
		rules rules
		want  Scope
	}{
		{"no rule opens nothing", nil, ""},
		{"everybody on every port", rules{{everyone(), all}}, ScopeAll},
		{"everybody on every port of each protocol", rules{{everyone(), whole(snapshot.TCP, snapshot.UDP, snapshot.SCTP)}}, ScopeAll},
		{"everybody on every TCP port", rules{{everyone(), tcp}}, ScopeTCP},
		{"everybody on every TCP and UDP port", rules{{everyone(), whole(snapshot.TCP, snapshot.UDP)}}, ScopeTCP},
		{"everybody on every UDP port", rules{{everyone(), whole(snapshot.UDP)}}, ""},
		{"everybody on named ports", rules{{everyone(), snapshot.Ports{Named: 3}}}, ""},
		{"everybody on a protocol that is none", rules{{everyone(), whole("ICMP")}}, ""},
		{"everybody on half of the ports, twice", rules{{everyone(), low}, {everyone(), high}}, ScopeTCP},
		{"pods on half of the ports and everybody on the rest", rules{{everyPod(), low}, {everyone(), high}}, ScopeCluster},
		{"every pod", rules{{everyPod(), all}}, ScopeCluster},
		{"every pod on every TCP port", rules{{everyPod(), tcp}}, ScopeCluster},
		{"every pod of the own namespace", rules{{own, all}}, ""},
		{"every namespace that has its name", rules{{namespaces(exists(snapshot.NamespaceNameLabel)), all}}, ScopeCluster},
		{"one namespace, and in another rule all others", rules{{namespaces(in(snapshot.NamespaceNameLabel, "a")), all}, {namespaces(notIn(snapshot.NamespaceNameLabel, "a")), all}}, ScopeCluster},
		{"one namespace, and all others on TCP only", rules{{namespaces(in("x", "a")), all}, {namespaces(notIn("x", "a")), tcp}}, ScopeCluster},
		{"one namespace, and all others on UDP only", rules{{namespaces(in("x", "a")), all}, {namespaces(notIn("x", "a")), whole(snapshot.UDP)}}, ""},
		{"a label of a Namespace is none of a pod", rules{{snapshot.Peers{Pods: []snapshot.PodPeer{
			{Namespaces: snapshot.Selector{exists("x")}}, {Pods: snapshot.Selector{absent("x")}},
		}}, all}}, ""},
		{"the world", rules{{blocks("0.0.0.0/0"), all}}, ScopeWorld},
		{"the world by TCP", rules{{blocks("0.0.0.0/0"), tcp}}, ScopeWorld},
		{"the world by UDP", rules{{blocks("0.0.0.0/0"), whole(snapshot.UDP)}}, ""},
		{"the world in halves and rules", rules{{blocks("0.0.0.0/1"), all}, {blocks("128.0.0.0/1"), tcp}}, ScopeWorld},
		{"the world and every pod", rules{{blocks("0.0.0.0/0"), all}, {everyPod(), all}}, ScopeAll},
		{"the world by TCP and every pod by TCP", rules{{blocks("0.0.0.0/0"), tcp}, {everyPod(), tcp}}, ScopeTCP},
		{"the world and everybody by TCP", rules{{blocks("0.0.0.0/0"), all}, {everyone(), tcp}}, ScopeWorld},
	} {
		t.Run(c.name, func(t *testing.T) {
			var batch []*compiledRule
			for _, r := range c.rules {
				batch = append(batch, compileRule(&snapshot.Rule{Peers: r.from, Ports: r.on}, &r.from, "", nil))
			}
			r := connectionsOf(batch, nil)
			if got := r.scope(); got != c.want {
				t.Errorf("reachOf = %q, want %q", got, c.want)
			}
			slices.Reverse(batch)
			r = connectionsOf(batch, nil)
			if got := r.scope(); got != c.want {
				t.Errorf("reachOf with the rules reversed = %q, want %q", got, c.want)
			}
		})
	}
}

// A rule more never closes anything: what was open stays open, and what was open
// to everybody stays so.
func TestReachOfNeverShrinksToNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	peers := []snapshot.Peers{
		everyone(), everyPod(), blocks("0.0.0.0/0"), blocks("0.0.0.0/1"), blocks("128.0.0.0/1"),
		namespaces(exists("x")), namespaces(absent("x")),
	}
	of := []snapshot.Ports{
		{All: true},
		whole(snapshot.TCP),
		whole(snapshot.UDP, snapshot.SCTP),
		{Ranges: ranges(snapshot.TCP, 1, 999)},
		{Ranges: ranges(snapshot.TCP, 1000, 65535)},
		{Named: 1},
	}
	for range 5000 {
		var batch []*compiledRule
		before := Scope("")
		for range 6 {
			rule := snapshot.Rule{Peers: peers[random.IntN(len(peers))], Ports: of[random.IntN(len(of))]}
			batch = append(batch, compileRule(&rule, &rule.Peers, "", nil))
			r := connectionsOf(batch, nil)
			after := r.scope()
			if before != "" && after == "" || before == ScopeAll && after != ScopeAll {
				t.Fatalf("one rule more takes %q to %q: %+v", before, after, batch)
			}
			before = after
		}
	}
}

// Two halves of the world stay one, however small the ports are cut.
func TestPartsCutSmallCoverTogether(t *testing.T) {
	for _, pieces := range []int32{2, 100, 1000} {
		var batch []*compiledRule
		for i := range pieces {
			first, last := i*(snapshot.LastPort/pieces)+1, (i+1)*(snapshot.LastPort/pieces)
			for _, half := range []string{"0.0.0.0/1", "128.0.0.0/1"} {
				rule := snapshot.Rule{Peers: blocks(half), Ports: snapshot.Ports{Ranges: ranges(snapshot.TCP, first, last)}}
				batch = append(batch, compileRule(&rule, &rule.Peers, "", nil))
			}
		}
		matched := connectionsOf(batch, nil)
		if got := matched.scope(); got != ScopeWorld {
			t.Errorf("scope = %q of %d pieces", got, pieces)
		}
		for _, r := range batch {
			denying := *r.Rule
			denying.Action = snapshot.Deny
			r.Rule = &denying
		}
		if matched = connectionsOf(batch, nil); pieces == 1000 && matched.scope() != "" {
			t.Errorf("%d pieces deny the world, though it is not certain that they do", pieces)
		}
	}
}

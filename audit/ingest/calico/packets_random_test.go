package calico_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
)

// packetSelectors are few enough that random policies meet each other often, and
// every combination of labels that they tell apart is among packetPods.
func packetSelectors() []*packetSelector {
	app := func(values ...string) func(*packetPod) bool {
		return func(p *packetPod) bool {
			for _, v := range values {
				if p.labels["app"] == v {
					return true
				}
			}
			return false
		}
	}
	return []*packetSelector{
		{"app == 'web'", app("web")},
		{"app in {'db'}", app("db")},
		{"has(app)", app("web", "db", "wx", "x")},
		{"all()", func(*packetPod) bool { return true }},
		{"projectcalico.org/namespace == 'a'", func(p *packetPod) bool { return p.namespace == "a" }},
		{"app starts with 'w'", app("web", "wx")},
		{"app == 'web' || !has(app)", app("web", "")},
		{"app != 'web'", app("db", "wx", "x", "")},
		{"!has(app)", app("")},
		{"!(app starts with 'w')", app("db", "x", "")},
	}
}

func packetNamespaces() []*packetSelector {
	return []*packetSelector{
		{"all()", func(*packetPod) bool { return true }},
		{"projectcalico.org/name == 'a'", func(p *packetPod) bool { return p.namespace == "a" }},
		{"has(projectcalico.org/name) && projectcalico.org/name not in {'a'}", func(p *packetPod) bool { return p.namespace != "a" }},
		{"tier == 'gold'", func(p *packetPod) bool { return p.namespace == "b" }}, // which has that label
		{"global()", func(*packetPod) bool { return false }},
	}
}

// packetPods are pods of three namespaces with and without labels, each kind of
// them with addresses of two ranges.
func packetPods() []*packetPod {
	var out []*packetPod
	for n, namespace := range []string{"a", "b", "c"} {
		for i, app := range []string{"web", "db", "wx", "x", "", "web", "db", "wx", "x", ""} {
			p := &packetPod{namespace: namespace, name: fmt.Sprintf("p%d", i), labels: map[string]string{}}
			if app != "" {
				p.labels["app"] = app
			}
			ranges := [][2]byte{{10, 1}, {172, 16}, {192, 168}, {100, 64}, {10, 2}}[(n+i+i/5)%5]
			p.addr = netip.AddrFrom4([4]byte{ranges[0], ranges[1], byte(n), byte(i)})
			out = append(out, p)
		}
	}
	return out
}

func randomTiers(r *rand.Rand) map[string]packetTier {
	last := math.Inf(1)
	return map[string]packetTier{
		"default": {order: 1e6},
		"t1":      {order: 100},
		"t2":      {order: []float64{100, 200, last}[r.IntN(3)], passes: r.IntN(2) == 0},
		"t3":      {order: []float64{2e6, last}[r.IntN(2)], passes: r.IntN(2) == 0},
	}
}

func randomPolicy(r *rand.Rand, name string) packetPolicy {
	p := packetPolicy{name: name, tier: []string{"default", "t1", "t2", "t3"}[r.IntN(4)], rules: map[string][]packetRule{}}
	if p.tier != "default" {
		p.name = p.tier + "." + name
	}
	switch r.IntN(4) {
	case 0, 1:
		p.namespace = []string{"a", "b"}[r.IntN(2)]
	case 2:
		p.namespaces = packetNamespaces()[r.IntN(4)]
	}
	if r.IntN(3) == 0 {
		p.selector = packetSelectors()[r.IntN(10)]
	}
	if n := r.IntN(4); n > 0 {
		order := float64(n * 500)
		p.order = &order
	}
	for _, direction := range []string{"Ingress", "Egress"} {
		for range r.IntN(3) {
			p.rules[direction] = append(p.rules[direction], randomRule(r, direction))
		}
	}
	if n := r.IntN(5); n < 3 {
		p.types = [][]string{{"Ingress"}, {"Egress"}, {"Ingress", "Egress"}}[n]
	}
	return p
}

func randomRule(r *rand.Rand, direction string) packetRule {
	rule := packetRule{action: []string{"Allow", "Deny", "Pass", "Allow", "Deny", "Log"}[r.IntN(6)], peer: randomPeer(r)}
	if r.IntN(6) == 0 {
		rule.own.selector = packetSelectors()[r.IntN(10)]
	}
	switch r.IntN(6) {
	case 0:
		rule.protocol = []string{"TCP", "UDP"}[r.IntN(2)]
	case 1:
		rule.protocol = "TCP"
		if direction == "Egress" {
			rule.peer.ports = []int{80, 443}
		} else {
			rule.own.ports = []int{80, 443}
		}
	}
	return rule
}

func randomPeer(r *rand.Rand) packetEnd {
	var e packetEnd
	switch r.IntN(9) {
	case 0:
		e.selector = packetSelectors()[r.IntN(10)]
	case 1:
		e.namespaces = packetNamespaces()[r.IntN(5)]
	case 2:
		e.selector, e.namespaces = packetSelectors()[r.IntN(10)], packetNamespaces()[r.IntN(5)]
	case 3:
		e.notSelector = packetSelectors()[r.IntN(10)]
	case 4:
		e.nets = [][]string{{"0.0.0.0/0"}, {"10.0.0.0/8"}, {"8.8.8.0/24"}}[r.IntN(3)]
	case 5:
		e.notNets = [][]string{{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"}, {"8.8.8.0/24"}}[r.IntN(2)]
	case 6:
		e.selector, e.nets = packetSelectors()[r.IntN(10)], []string{"0.0.0.0/0"}
	}
	return e
}

// object returns the end as it stands in a manifest.
func (e *packetEnd) object() map[string]any {
	o := map[string]any{}
	for key, s := range map[string]*packetSelector{
		"selector": e.selector, "notSelector": e.notSelector, "namespaceSelector": e.namespaces,
	} {
		if s != nil {
			o[key] = s.text
		}
	}
	o["nets"], o["notNets"], o["ports"] = e.nets, e.notNets, e.ports
	return o
}

// object returns the policy as a manifest.
func (p *packetPolicy) object() map[string]any {
	spec := map[string]any{"tier": p.tier, "order": p.order, "types": p.types}
	if p.selector != nil {
		spec["selector"] = p.selector.text
	}
	if p.namespaces != nil {
		spec["namespaceSelector"] = p.namespaces.text
	}
	for direction, rules := range p.rules {
		var list []any
		for _, r := range rules {
			o := map[string]any{"action": r.action, "source": r.peer.object(), "destination": r.own.object()}
			if direction == "Egress" {
				o["source"], o["destination"] = o["destination"], o["source"]
			}
			if r.protocol != "" {
				o["protocol"] = r.protocol
			}
			list = append(list, o)
		}
		spec[strings.ToLower(direction)] = list
	}
	return map[string]any{"metadata": map[string]any{"name": p.name, "namespace": p.namespace}, "spec": spec}
}

package calico_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// This is a plain evaluation of Calico's policies, connection by connection, by its
// documentation. It shares no code with the packages that ingest and evaluate them.

// packetPod is a pod of a small cluster, or a set of addresses, which selectors match
// alike. A set has no account, and may be in no namespace.
type packetPod struct {
	namespace, name, account string
	labels                   map[string]string
	addr                     netip.Addr
	nets                     []string // of a set
}

// has reports whether a set has an address.
func (p *packetPod) has(addr netip.Addr) bool {
	return slices.ContainsFunc(p.nets, func(s string) bool { return netip.MustParsePrefix(s).Contains(addr) })
}

// packetSelector is a selector as it is written and what it means.
type packetSelector struct {
	text  string
	holds func(*packetPod) bool
}

// packetEnd holds the conditions of a rule on one end of a connection. A nil field is no
// condition.
type packetEnd struct {
	selector, notSelector, namespaces *packetSelector
	accounts                          []string
	nets, notNets                     []string
	ports                             []int
}

type packetRule struct {
	action, protocol string
	peer, own        packetEnd
}

type packetPolicy struct {
	name, namespace, tier string // without a namespace it is global
	order                 *float64
	selector, namespaces  *packetSelector
	types                 []string
	rules                 map[string][]packetRule // by Ingress and Egress
}

type packetTier struct {
	order  float64
	passes bool
}

// packet is a connection between a pod that policies select and another end,
// which is a pod or an address outside.
type packet struct {
	direction string
	pod       *packetPod
	other     *packetPod // nil: outside
	addr      netip.Addr // of the other end
	protocol  string
	port      int
}

// holds reports whether an end of a connection meets the conditions in a policy of the
// namespace. Its address is that of the pod, if it is one, and of every set that has it.
func (e *packetEnd) holds(pod *packetPod, addr netip.Addr, namespace string, sets []*packetPod) bool {
	var owners []*packetPod
	if pod != nil {
		owners = append(owners, pod)
	}
	for _, s := range sets {
		if s.has(addr) {
			owners = append(owners, s)
		}
	}
	if e.selector != nil || e.namespaces != nil || e.accounts != nil || e.notSelector != nil && namespace != "" {
		selected := func(p *packetPod) bool {
			return (e.namespaces != nil || namespace == "" || p.namespace == namespace) &&
				(e.selector == nil || e.selector.holds(p)) && (e.namespaces == nil || e.namespaces.holds(p)) &&
				(e.accounts == nil || slices.Contains(e.accounts, p.account))
		}
		if !slices.ContainsFunc(owners, selected) {
			return false
		}
	}
	if e.notSelector != nil && slices.ContainsFunc(owners, e.notSelector.holds) {
		return false
	}
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return netip.MustParsePrefix(s).Contains(addr) })
	}
	return (e.nets == nil || in(e.nets)) && !in(e.notNets)
}

// matches reports whether a rule of a policy of the namespace decides on a packet.
func (r *packetRule) matches(p packet, namespace string, sets []*packetPod) bool {
	ports := r.own.ports
	if p.direction == "Egress" {
		ports = r.peer.ports
	}
	return (r.protocol == "" || r.protocol == p.protocol) && (ports == nil || slices.Contains(ports, p.port)) &&
		r.peer.holds(p.other, p.addr, namespace, sets) && r.own.holds(p.pod, p.pod.addr, namespace, nil)
}

func (p *packetPolicy) selects(pod *packetPod) bool {
	return (p.namespace == "" || p.namespace == pod.namespace) && (p.selector == nil || p.selector.holds(pod)) &&
		(p.namespaces == nil || p.namespaces.holds(pod))
}

func (p *packetPolicy) isAbout(direction string) bool {
	if p.types != nil {
		return slices.Contains(p.types, direction)
	}
	if direction == "Egress" {
		return len(p.rules["Egress"]) > 0
	}
	return len(p.rules["Egress"]) == 0 || len(p.rules["Ingress"]) > 0
}

// arrives reports whether the policies let a packet through.
func (c *packetCluster) arrives(p packet) bool {
	byTier := map[string][]packetPolicy{}
	var names []string
	for _, policy := range c.policies {
		if policy.selects(p.pod) && policy.isAbout(p.direction) {
			if byTier[policy.tier] == nil {
				names = append(names, policy.tier)
			}
			byTier[policy.tier] = append(byTier[policy.tier], policy)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.tiers[a].order, c.tiers[b].order), strings.Compare(a, b))
	})
	for _, name := range names {
		slices.SortFunc(byTier[name], func(a, b packetPolicy) int {
			return cmp.Or(cmp.Compare(a.place(), b.place()), strings.Compare(a.name, b.name))
		})
		switch c.firstAction(p, byTier[name]) {
		case "Allow":
			return true
		case "Deny":
			return false
		case "":
			if !c.tiers[name].passes {
				return false
			}
		}
	}
	return true
}

func (p *packetPolicy) place() float64 {
	if p.order == nil {
		return math.Inf(1)
	}
	return *p.order
}

// firstAction returns what the first rule does that matches and does not only log.
func (c *packetCluster) firstAction(p packet, policies []packetPolicy) string {
	for _, policy := range policies {
		for _, r := range policy.rules[p.direction] {
			if r.action != "Log" && r.matches(p, policy.namespace, c.sets) {
				return r.action
			}
		}
	}
	return ""
}

// packetSelectors are few enough that random policies meet each other often, and
// every combination of labels that they distinguish is among packetPods.
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
		{"projectcalico.org/serviceaccount == 'web'", func(p *packetPod) bool { return p.account == "web" }},
		{"projectcalico.org/serviceaccount != 'web'", func(p *packetPod) bool { return p.account != "web" }},
	}
}

func packetNamespaces() []*packetSelector {
	return []*packetSelector{
		{"all()", func(p *packetPod) bool { return p.namespace != "" }},
		{"projectcalico.org/name == 'a'", func(p *packetPod) bool { return p.namespace == "a" }},
		{"has(projectcalico.org/name) && projectcalico.org/name not in {'a'}", func(p *packetPod) bool { return p.namespace != "a" && p.namespace != "" }},
		{"tier == 'gold'", func(p *packetPod) bool { return p.namespace == "b" }}, // which has that label
		{"global()", func(p *packetPod) bool { return p.namespace == "" }},
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
			if i >= 5 {
				p.account = "web"
			}
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
		p.selector = packetSelectors()[r.IntN(12)]
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
		rule.own.selector = packetSelectors()[r.IntN(12)]
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
	switch r.IntN(12) {
	case 7, 8:
		e.selector, e.namespaces = packetSelectors()[r.IntN(12)], packetNamespaces()[4]
	case 9:
		e.accounts = []string{"web"}
	case 0:
		e.selector = packetSelectors()[r.IntN(12)]
	case 1:
		e.namespaces = packetNamespaces()[r.IntN(5)]
	case 2:
		e.selector, e.namespaces = packetSelectors()[r.IntN(12)], packetNamespaces()[r.IntN(5)]
	case 3:
		e.notSelector = packetSelectors()[r.IntN(12)]
	case 4:
		e.nets = [][]string{{"0.0.0.0/0"}, {"10.0.0.0/8"}, {"8.8.8.0/24"}}[r.IntN(3)]
	case 5:
		e.notNets = [][]string{{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"}, {"8.8.8.0/24"}}[r.IntN(2)]
	case 6:
		e.selector, e.nets = packetSelectors()[r.IntN(12)], []string{"0.0.0.0/0"}
	}
	return e
}

// object returns the end as in a manifest.
func (e *packetEnd) object() map[string]any {
	o := map[string]any{}
	for key, s := range map[string]*packetSelector{
		"selector": e.selector, "notSelector": e.notSelector, "namespaceSelector": e.namespaces,
	} {
		if s != nil {
			o[key] = s.text
		}
	}
	if e.accounts != nil {
		o["serviceAccounts"] = map[string]any{"names": e.accounts}
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

// packetCluster is a small cluster with random policies.
type packetCluster struct {
	policies []packetPolicy
	tiers    map[string]packetTier
	pods     []*packetPod
	sets     []*packetPod
}

func randomCluster(seed uint64) packetCluster {
	r := rand.New(rand.NewPCG(seed, 1))
	c := packetCluster{tiers: randomTiers(r), pods: packetPods()}
	for i := range 1 + r.IntN(5) {
		c.policies = append(c.policies, randomPolicy(r, fmt.Sprintf("p%d", i)))
	}
	for i := range r.IntN(4) {
		c.sets = append(c.sets, randomSet(r, fmt.Sprintf("s%d", i)))
	}
	return c
}

// randomSet returns a set of addresses: everything, one of its halves, or a few.
func randomSet(r *rand.Rand, name string) *packetPod {
	s := &packetPod{name: name, namespace: []string{"", "a", "b"}[r.IntN(3)], labels: map[string]string{}}
	if app := []string{"web", "db", "wx", ""}[r.IntN(4)]; app != "" {
		s.labels["app"] = app
	}
	s.nets = [][]string{{"0.0.0.0/0"}, {"0.0.0.0/1", "128.0.0.0/1"}, {"0.0.0.0/1"}, {"128.0.0.0/1"}, {"8.8.8.0/24"}, {}}[r.IntN(6)]
	return s
}

// facts ingests the manifests of the cluster and returns them as well.
func (c *packetCluster) facts(t *testing.T) (snapshot.Facts, string) {
	t.Helper()
	customs := map[snapshot.Kind]ingest.Custom{}
	for _, custom := range ingest.Customs() {
		customs[custom.Kind] = custom
	}
	in := ingest.New(nil)
	var facts snapshot.Facts
	var text strings.Builder
	take := func(kind snapshot.Kind, o map[string]any) {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %s\n", kind, data)
		custom := customs[kind]
		if err := custom.Take(in, data, &facts); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"default", "t1", "t2", "t3"} {
		spec := map[string]any{}
		if tier := c.tiers[name]; !math.IsInf(tier.order, 1) {
			spec["order"] = tier.order
		}
		if c.tiers[name].passes {
			spec["defaultAction"] = "Pass"
		}
		take(snapshot.CalicoTiers, map[string]any{"metadata": map[string]any{"name": name}, "spec": spec})
	}
	for _, p := range c.policies {
		kind := snapshot.CalicoGlobalNetworkPolicies
		if p.namespace != "" {
			kind = snapshot.CalicoNetworkPolicies
		}
		take(kind, p.object())
	}
	for _, s := range c.sets {
		kind := snapshot.CalicoGlobalNetworkSets
		if s.namespace != "" {
			kind = snapshot.CalicoNetworkSets
		}
		meta := map[string]any{"name": s.name, "namespace": s.namespace, "labels": s.labels}
		take(kind, map[string]any{"metadata": meta, "spec": map[string]any{"nets": s.nets}})
	}
	for _, name := range []string{"a", "b", "c"} {
		labels := map[string]string{"kubernetes.io/metadata.name": name}
		if name == "b" {
			labels["tier"] = "gold"
		}
		meta := snapshot.Meta{Kind: "Namespace", Namespace: name, Name: name}
		facts.Namespaces = append(facts.Namespaces, snapshot.Namespace{Meta: meta, Labels: snapshot.NewLabels(labels)})
	}
	for _, p := range c.pods {
		meta := snapshot.Meta{Kind: "Pod", Namespace: p.namespace, Name: p.name}
		facts.Pods = append(facts.Pods, snapshot.Pod{
			Meta: meta, Labels: snapshot.NewLabels(p.labels), ServiceAccount: p.account,
		})
	}
	return facts, text.String()
}

// packetResult is what default-deny-present says: the reasons of the exposed pods, the
// verdicts of violations, and what was not evaluated, by direction and name.
type packetResult struct {
	exposed, violations map[string]string
	notEvaluated        map[string]bool
}

// evaluated runs default-deny-present on the facts. unread are kinds that are not known.
func evaluated(t *testing.T, facts snapshot.Facts, unread ...snapshot.Kind) packetResult {
	t.Helper()
	rule := isolation.Rule()
	var b snapshot.Builder
	var reads []snapshot.Read
	kinds := slices.Concat(rule.Needs, rule.Uses)
	for _, kind := range kinds {
		read := snapshot.Read{Kind: kind, Status: snapshot.Listed}
		if slices.Contains(unread, kind) {
			read.Status = snapshot.Forbidden
		}
		reads = append(reads, read)
	}
	b.Add(facts, reads...)
	result, err := rule.Run(rules.Input{
		View:       b.Freeze().View(kinds...),
		Owner:      func(*snapshot.Meta) rules.Owner { return rules.Owner{} },
		Directions: []snapshot.Direction{snapshot.DirectionIngress, snapshot.DirectionEgress},
		Exempt:     func(string) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	out := packetResult{map[string]string{}, map[string]string{}, map[string]bool{}}
	for _, row := range result.Isolation {
		for _, e := range row.Exposed {
			if e.Direction != "egress" {
				out.exposed["Ingress "+row.Namespace+"/"+e.Name] = e.Reason
			}
			if e.Direction != "ingress" {
				out.exposed["Egress "+row.Namespace+"/"+e.Name] = e.Reason
			}
		}
	}
	for _, v := range result.Violations {
		out.violations[v.Subject.Detail+" "+v.Subject.Name] = v.Verdict
	}
	for _, s := range result.NotEvaluated {
		out.notEvaluated[s.Detail+" "+s.Name] = true
	}
	return out
}

// connections reports whether a pod can connect to, or from, every pod and every address
// outside by TCP on every port, and whether it can connect to anything on any port.
func (c *packetCluster) connections(direction string, pod *packetPod) (cluster, world, anything bool) {
	cluster, world = true, true
	for _, port := range []int{1, 80, 443, 65535} {
		p := packet{direction: direction, pod: pod, protocol: "TCP", port: port}
		for _, p.other = range c.pods {
			p.addr = p.other.addr
			ok := c.arrives(p)
			cluster, anything = cluster && ok, anything || ok
			p.protocol = "UDP"
			anything = anything || c.arrives(p)
			p.protocol = "TCP"
		}
		p.other = nil
		for _, outside := range []string{"1.1.1.1", "8.8.8.8", "203.0.113.9"} {
			p.addr = netip.MustParseAddr(outside)
			ok := c.arrives(p)
			world, anything = world && ok, anything || ok
			p.protocol = "UDP"
			anything = anything || c.arrives(p)
			p.protocol = "TCP"
		}
	}
	return cluster, world, anything
}

// checkPackets compares the rule with every packet of a random cluster: a pod that is open
// to all pods or to the internet must be reported as open, one that nothing can connect to
// must not, and nothing is open without a finding.
func checkPackets(t *testing.T, seed uint64) {
	t.Helper()
	c := randomCluster(seed)
	facts, text := c.facts(t)
	got := evaluated(t, facts)
	if len(got.notEvaluated) > 0 {
		t.Fatalf("seed %d: %v are not evaluated though everything is known\n%s", seed, got.notEvaluated, text)
	}
	for _, pod := range c.pods {
		for _, direction := range []string{"Ingress", "Egress"} {
			name := direction + " " + pod.namespace + "/" + pod.name
			cluster, world, anything := c.connections(direction, pod)
			reason := got.exposed[name]
			switch {
			case reason == "" && (cluster || world):
				t.Fatalf("seed %d: %s is open (cluster %t, world %t) and not called so\n%s", seed, name, cluster, world, text)
			case reason != "" && !anything:
				t.Fatalf("seed %d: %s is closed and called %s\n%s", seed, name, reason, text)
			case reason != "" && got.violations[direction+" "+pod.namespace] == "":
				t.Fatalf("seed %d: %s is called %s and nothing is found\n%s", seed, name, reason, text)
			}
		}
	}
	checkUnread(t, seed, facts, text, got)
}

// checkUnread compares the verdicts with those of the same cluster of which the sets could
// not be read: what is found then is found with the sets, and what is clean then is clean.
func checkUnread(t *testing.T, seed uint64, facts snapshot.Facts, text string, known packetResult) {
	t.Helper()
	facts.AddressSets = nil
	got := evaluated(t, facts, snapshot.CalicoSets.Kinds()...)
	for _, namespace := range []string{"a", "b", "c"} {
		for _, direction := range []string{"Ingress", "Egress"} {
			name := direction + " " + namespace
			if found := got.violations[name] != ""; !got.notEvaluated[name] && found != (known.violations[name] != "") {
				t.Fatalf("seed %d: without the sets %s is %q, with them %q\n%s",
					seed, name, got.violations[name], known.violations[name], text)
			}
		}
	}
}

func TestVerdictsHoldAgainstPackets(t *testing.T) {
	for seed := range uint64(600) {
		checkPackets(t, seed)
	}
}

func FuzzVerdicts(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { checkPackets(t, seed) })
}

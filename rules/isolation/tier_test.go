package isolation_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// differ returns how the judge of packets and the rule differ on the cluster.
func (c tierCluster) differ() string {
	words, err := isolationWords(c.snapshot())
	if err != nil {
		return err.Error()
	}
	elsewhere := func(line string) bool { return !strings.Contains(line, tierNamespace) }
	return cmp.Diff(c.byPackets(), slices.DeleteFunc(words, elsewhere))
}

// snapshot returns the facts of the cluster and of the sets that it refers to.
func (c tierCluster) snapshot() *snapshot.Snapshot {
	f := snapshot.Facts{Policies: slices.Clone(c.Policies)}
	f.Namespaces = []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: tierNamespace}}}
	// The others that tierPods are in.
	for name, labels := range map[string]map[string]string{"team-b": nil, "team-c": {"env": "prod"}} {
		f.Namespaces = append(f.Namespaces, snapshot.Namespace{
			Meta: snapshot.Meta{Kind: "Namespace", Name: name}, Labels: snapshot.NewLabels(labels),
		})
		for _, app := range []string{"web", unheard} {
			f.Pods = append(f.Pods, snapshot.Pod{
				Meta:   snapshot.Meta{Kind: "Pod", Namespace: name, Name: app},
				Labels: snapshot.NewLabels(map[string]string{"app": app}),
			})
		}
	}
	for i, pod := range c.Pods {
		meta := snapshot.Meta{Kind: "Pod", Namespace: tierNamespace, Name: fmt.Sprintf("w%d", i)}
		labels := maps.Clone(pod)
		delete(labels, snapshot.ServiceAccountKey)
		f.Pods = append(f.Pods, snapshot.Pod{
			Meta: meta, Labels: snapshot.NewLabels(labels), ServiceAccount: pod[snapshot.ServiceAccountKey],
		})
	}
	for name, cidr := range tierSets() {
		meta := snapshot.Meta{Group: snapshot.CiliumCIDRGroups.Group(), Kind: "CiliumCIDRGroup", Name: name}
		f.AddressSets = append(f.AddressSets, snapshot.AddressSet{
			Meta: meta, Labels: snapshot.NewLabels(map[string]string{"set": name}), CIDRs: []netip.Prefix{netip.MustParsePrefix(cidr)},
		})
	}
	f.Unsupported = c.Unsupported
	var b snapshot.Builder
	b.Add(f, snapshot.Read{Kind: snapshot.CiliumCIDRGroups, Status: snapshot.Listed})
	return b.Freeze()
}

// evaluatedLaw is what must hold of a cluster of which something is not known: what
// is called violated, or not, is so whatever that is. It returns what does not hold,
// and how many directions were not evaluated though it would have changed nothing.
func (c tierCluster) evaluatedLaw() (broken string, overcautious int) {
	res, err := isolationOf(c.snapshot())
	if err != nil {
		return err.Error(), 0
	}
	for _, d := range snapshot.Directions() {
		about := func(s rules.Subject) bool { return s.Name == tierNamespace && s.Detail == d.String() }
		violated := slices.ContainsFunc(res.Violations, func(v rules.Violation) bool { return about(v.Subject) })
		could := map[bool]bool{}
		for _, world := range c.worlds() {
			could[slices.ContainsFunc(world.byPackets(), func(line string) bool {
				return strings.HasPrefix(line, "# finding: "+tierNamespace+" ("+d.String()+")")
			})] = true
		}
		switch evaluated := !slices.ContainsFunc(res.NotEvaluated, about); {
		case evaluated && could[!violated]:
			return fmt.Sprintf("%s is violated: %t, and might be otherwise", d, violated), 0
		case !evaluated && len(could) == 1 && len(c.Pods) > 0:
			overcautious++
		}
	}
	return "", overcautious
}

// worlds are clusters that this may be in truth: the unknown set has all addresses or
// none, and each unsupported kind does nothing or all that it can.
func (c tierCluster) worlds() []tierCluster {
	worlds := []tierCluster{c.withSets(), c.withSets("0.0.0.0/0", "::/0")}
	for _, u := range c.Unsupported {
		for _, w := range slices.Clone(worlds) {
			worlds = append(worlds, w.under(u, snapshot.Deny))
			if !u.Restricts {
				worlds = append(worlds, w.under(u, snapshot.Allow))
			}
		}
	}
	return worlds
}

// under returns the cluster under a policy for all pods that comes first, and decides in
// the directions of an unsupported kind.
func (c tierCluster) under(u snapshot.Unsupported, action snapshot.Action) tierCluster {
	p := snapshot.Policy{Tier: -1, Subject: snapshot.Subject{{}}}
	for _, d := range snapshot.Directions() {
		if u.Directions[d] {
			peers := snapshot.Peers{Internet: true}
			if !u.Restricts {
				peers = snapshot.Peers{Everyone: true}
			}
			p.Rules[d] = []snapshot.Rule{{Action: action, Peers: peers, Ports: snapshot.Ports{All: true}}}
		}
	}
	c.Policies = append([]snapshot.Policy{p}, c.Policies...)
	return c
}

func checkDoubtfulCluster(t *rapid.T) {
	c := drawDoubtfulCluster(rapidSource{t})
	if broken, _ := c.evaluatedLaw(); broken != "" {
		t.Fatalf("%s in\n%s%+v", broken, c, c.Unsupported)
	}
}

func TestWhatIsEvaluatedHoldsWhateverIsNotKnown(t *testing.T) {
	for range 3 { // of 100 clusters each
		rapid.Check(t, checkDoubtfulCluster)
	}
}

// A rule that evaluates nothing keeps the law and is of no use.
func TestDoubtsAreNotOvercautious(t *testing.T) {
	n, clusters := 0, 150
	for seed := range uint64(clusters) {
		_, overcautious := drawDoubtfulCluster(seeded(seed)).evaluatedLaw()
		n += overcautious
	}
	if n > 2*clusters/20 {
		t.Errorf("%d of %d directions are not evaluated needlessly", n, 2*clusters)
	}
}

func checkTierCluster(t *rapid.T) {
	c := drawTierCluster(rapidSource{t})
	if diff := c.differ(); diff != "" {
		t.Fatalf("packets (-) and the rule (+) differ:\n%s\nin\n%s", diff, c)
	}
}

func TestTiersAgreeWithPackets(t *testing.T) {
	for range 25 { // of 100 clusters each
		rapid.Check(t, checkTierCluster)
	}
}

func FuzzTiersAgreeWithPackets(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkTierCluster))
}

// Clusters in which nothing ever comes near a verdict would prove nothing.
func TestTierClustersComeToEveryVerdict(t *testing.T) {
	var words strings.Builder
	for seed := range uint64(1000) {
		words.WriteString(strings.Join(drawTierCluster(seeded(seed)).byPackets(), "\n") + "\n")
	}
	for _, word := range []string{
		"ingress=present", "ingress=partial", "ingress=missing", "open=none", "open=ingress", "open=both", "open=partial",
		"scope=all", "scope=world", "scope=cluster", "scope=tcp", "allow-all\n", "allow-world", "allow-cluster", "allow-all-tcp",
		"not-selected", "no-policy", "world-not-denied", "is missing", "is partial", "is defeated",
	} {
		if n := strings.Count(words.String(), word); n < 10 {
			t.Errorf("%q comes only %d times", word, n)
		}
	}
}

package isolation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// differ returns how the judge of packets and the rule differ on the cluster.
func (c tierCluster) differ() string {
	f := snapshot.Facts{Policies: slices.Clone(c.Policies)}
	f.Namespaces = []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: tierNamespace}}}
	for i, pod := range c.Pods {
		meta := snapshot.Meta{Kind: "Pod", Namespace: tierNamespace, Name: fmt.Sprintf("w%d", i)}
		f.Pods = append(f.Pods, snapshot.Pod{Meta: meta, Labels: snapshot.NewLabels(pod)})
	}
	var b snapshot.Builder
	b.Add(f)
	words, err := isolationWords(b.Freeze())
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(c.byPackets(), words)
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

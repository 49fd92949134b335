package isolation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// differ returns how the judge of packets and the rule differ on the cluster.
func (c packetCluster) differ() string {
	words, err := isolationWords(c.snapshot())
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(c.byPackets(), words)
}

func checkPacketCluster(t *testing.T, seed uint64) {
	t.Helper()
	c := drawPacketCluster(seed)
	if c.differ() == "" {
		return
	}
	small := c.shrink()
	t.Fatalf("seed %d: packets (-) and the rule (+) differ:\n%s\nin\n%s", seed, small.differ(), small)
}

func TestIsolationAgreesWithPackets(t *testing.T) {
	for seed := range uint64(3000) {
		checkPacketCluster(t, seed)
	}
}

func FuzzIsolationAgreesWithPackets(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkPacketCluster)
}

// Clusters in which nothing ever comes near a verdict would prove nothing.
func TestPacketClustersComeToEveryVerdict(t *testing.T) {
	var words strings.Builder
	for seed := range uint64(300) {
		words.WriteString(strings.Join(drawPacketCluster(seed).byPackets(), "\n") + "\n")
	}
	for _, word := range []string{
		"ingress=present egress=missing", "ingress=missing egress=present", "ingress=present egress=present",
		"open=none", "open=ingress", "open=egress", "open=both", "open=partial", "scope=all", "scope=world", "scope=cluster", "scope=tcp",
		"both allow-all\n", "ingress allow-world", "egress allow-cluster", "allow-all-tcp", "not-selected", "invalid-policy", "no-policy", "host-network",
		"is missing", "is defeated",
	} {
		if n := strings.Count(words.String(), word); n < 20 {
			t.Errorf("%q comes only %d times", word, n)
		}
	}
}

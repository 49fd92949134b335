package rules_test

import (
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
	t.Errorf("seed %d: packets (-) and the rule (+) differ:\n%s\nin\n%s", seed, small.differ(), small)
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

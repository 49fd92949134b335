package policy

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func block(cidr string, except ...string) snapshot.CIDR {
	return snapshot.CIDR{Prefix: netip.MustParsePrefix(cidr), Except: prefixes(except...)}
}

func TestCoversWorld(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []snapshot.CIDR
		want   bool
	}{
		{"no block", nil, false},
		{"all of IPv4", []snapshot.CIDR{block("0.0.0.0/0")}, true},
		{"all of IPv6", []snapshot.CIDR{block("::/0")}, true},
		{"the public part of IPv6", []snapshot.CIDR{block("2000::/3")}, true},
		{"local IPv6", []snapshot.CIDR{block("fc00::/7")}, false},
		{"two halves", []snapshot.CIDR{block("128.0.0.0/1"), block("0.0.0.0/1")}, true},
		{"one half", []snapshot.CIDR{block("0.0.0.0/1")}, false},
		{"half of each family", []snapshot.CIDR{block("0.0.0.0/1"), block("2000::/4")}, false},
		{"all but the private ranges", []snapshot.CIDR{block("0.0.0.0/0", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")}, true},
		{"all but a cloud's metadata", []snapshot.CIDR{block("0.0.0.0/0", "169.254.169.254/32")}, true},
		{"all but half", []snapshot.CIDR{block("0.0.0.0/0", "0.0.0.0/1")}, false},
		{"all but everything", []snapshot.CIDR{block("0.0.0.0/0", "0.0.0.0/0")}, false},
		{"all but two halves", []snapshot.CIDR{block("0.0.0.0/0", "128.0.0.0/1", "0.0.0.0/1")}, false},
		{"what one block excepts another holds", []snapshot.CIDR{block("0.0.0.0/0", "0.0.0.0/1"), block("0.0.0.0/1")}, true},
		{"an exception of the other family", []snapshot.CIDR{block("0.0.0.0/0", "::/0")}, true},
		{"an exception outside the block", []snapshot.CIDR{block("0.0.0.0/1", "128.0.0.0/1"), block("128.0.0.0/1")}, true},
		{"the unicast addresses", []snapshot.CIDR{block("0.0.0.0/1"), block("128.0.0.0/2"), block("192.0.0.0/3")}, true},
		{"the private ranges", []snapshot.CIDR{block("10.0.0.0/8"), block("172.16.0.0/12"), block("192.168.0.0/16")}, false},
		{"single IPv6 addresses", []snapshot.CIDR{block("2001:db8::1/128")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := coversInternet(&snapshot.Peers{CIDRs: c.blocks}, nil); got != c.want {
				t.Errorf("coversWorld = %v, want %v", got, c.want)
			}
		})
	}
}

// cell returns the first address of the i-th of 1024 equal parts of a family's
// first 32 bits.
func cell(i int, v6 bool) netip.Addr {
	var a [16]byte
	binary.BigEndian.PutUint32(a[:], uint32(i)<<22)
	if v6 {
		return netip.AddrFrom16(a)
	}
	return netip.AddrFrom4([4]byte(a[:4]))
}

func randomPrefix(random *rand.Rand, v6 bool) netip.Prefix {
	return netip.PrefixFrom(cell(random.IntN(1024), v6), random.IntN(11)).Masked()
}

func randomBlock(random *rand.Rand, v6 bool) snapshot.CIDR {
	b := snapshot.CIDR{Prefix: randomPrefix(random, v6)}
	for range random.IntN(4) {
		b.Except = append(b.Except, randomPrefix(random, random.IntN(4) == 0 != v6))
	}
	return b
}

func holds(b snapshot.CIDR, a netip.Addr) bool {
	return b.Prefix.Contains(a) && !slices.ContainsFunc(b.Except, func(p netip.Prefix) bool { return p.Contains(a) })
}

// No random prefix is longer than ten bits, so to look at one address of each
// 1024th part is to look at all.
func TestShareAgreesWithLookingAtEveryPart(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 5000 {
		v6 := i%2 == 1
		blocks := make([]snapshot.CIDR, random.IntN(5))
		for j := range blocks {
			blocks[j] = randomBlock(random, random.IntN(5) == 0 != v6)
		}
		target := randomBlock(random, v6)
		held, size := 0, 0
		for c := range 1024 {
			a := cell(c, v6)
			if !holds(target, a) {
				continue
			}
			size++
			if slices.ContainsFunc(blocks, func(b snapshot.CIDR) bool { return holds(b, a) }) {
				held++
			}
		}
		if size == 0 {
			continue
		}
		got, want := share(blocks, target), float64(held)/float64(size)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("share(%v of %v) = %v, want %v", blocks, target, got, want)
		}
	}
}

// Sampled addresses of the public internet agree with coversWorld, where the
// sample leaves no doubt.
func TestCoversWorldAgreesWithSampling(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	sample := make([]netip.Addr, 0, 4000)
	for len(sample) < cap(sample) {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], random.Uint32())
		if addr := netip.AddrFrom4(a); !slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(addr) }) {
			sample = append(sample, addr)
		}
	}
	yes, no := 0, 0
	for range 400 {
		blocks := []snapshot.CIDR{{Prefix: netip.MustParsePrefix("0.0.0.0/0")}}
		for range random.IntN(6) {
			a := sample[random.IntN(len(sample))]
			blocks[0].Except = append(blocks[0].Except, netip.PrefixFrom(a, 2+random.IntN(31)).Masked())
		}
		held := 0
		for _, a := range sample {
			if holds(blocks[0], a) {
				held++
			}
		}
		got, seen := coversInternet(&snapshot.Peers{CIDRs: blocks}, nil), float64(held)/float64(len(sample))
		if math.Abs(seen-nearlyAll) < 0.02 {
			continue
		}
		if want := seen > nearlyAll; got != want {
			t.Fatalf("coversWorld(%v) = %v, but %.3f of the sample is held", blocks, got, seen)
		} else if want {
			yes++
		} else {
			no++
		}
	}
	if yes < 50 || no < 50 {
		t.Errorf("%d worlds and %d parts of it: the test tries too little", yes, no)
	}
}

package isolation_test

import (
	"math/big"
	"net/netip"
	"slices"
)

// stretch is a range of addresses outside the cluster that no block cuts. The
// packet that stands for it comes from its first address, or goes there.
type stretch struct {
	packetEnd
	public bool
	size   *big.Int
}

// everyAddress returns the stretches into which the blocks of some rules cut the
// addresses, and what is not public among them.
func everyAddress(all []packetRule) (list []stretch) {
	special := notPublic()
	var cuts []netip.Prefix
	for _, r := range all {
		for _, p := range r.peers {
			if p.IPBlock != nil {
				for _, cidr := range append([]string{p.IPBlock.CIDR}, p.IPBlock.Except...) {
					cuts = append(cuts, netip.MustParsePrefix(cidr))
				}
			}
		}
	}
	for _, family := range []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")} {
		starts := []netip.Addr{family.Addr()}
		for _, cut := range append(cuts, special...) {
			if cut.Addr().Is4() != family.Addr().Is4() {
				continue
			}
			starts = append(starts, cut.Masked().Addr())
			if next := lastOf(cut).Next(); next.IsValid() {
				starts = append(starts, next)
			}
		}
		slices.SortFunc(starts, netip.Addr.Compare)
		starts = slices.Compact(starts)
		for i, first := range starts {
			last := lastOf(family)
			if i+1 < len(starts) {
				last = starts[i+1].Prev()
			}
			public := !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(first) })
			list = append(list, stretch{packetEnd{addr: first}, public, distance(first, last)})
		}
	}
	return list
}

// notPublic are the addresses that are not of the public internet: what the
// registry of special addresses (RFC 6890) takes out of IPv4, and of IPv6 all
// that is not global unicast.
func notPublic() (list []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"::/3", "4000::/2", "8000::/1",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < 8*len(bytes); i++ {
		bytes[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// distance returns how many addresses there are from the first to the last.
func distance(first, last netip.Addr) *big.Int {
	n := new(big.Int).Sub(new(big.Int).SetBytes(last.AsSlice()), new(big.Int).SetBytes(first.AsSlice()))
	return n.Add(n, big.NewInt(1))
}

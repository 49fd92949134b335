package policy

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// special are the IPv4 ranges that are not part of the public internet (RFC 6890).
func special() []netip.Prefix {
	return prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
		"172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3")
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// coversInternet reports whether the peers include the public addresses of IPv4 or
// of IPv6 except those in except.
func coversInternet(peers *snapshot.Peers, except []snapshot.CIDR) bool {
	blocks := peers.CIDRs
	if peers.Everyone || peers.Internet {
		if len(except) == 0 {
			return true
		}
		blocks = []snapshot.CIDR{{Prefix: prefix4()}, {Prefix: prefix6()}}
	}
	if len(blocks) == 0 {
		return false
	}
	left := func(of snapshot.CIDR) float64 { return share(blocks, of) - share(except, of) }
	return left(internet4()) >= nearlyAll || left(internet6()) >= nearlyAll
}

// coversEverything reports whether the blocks include the addresses of one family that
// pods can have: this part of each private range, and nearly all of the public ones.
func coversEverything(blocks []snapshot.CIDR, part float64) bool {
	most := func(list ...string) bool {
		return !slices.ContainsFunc(prefixes(list...), func(p netip.Prefix) bool {
			return share(blocks, snapshot.CIDR{Prefix: p}) < part
		})
	}
	return most("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10") && share(blocks, internet4()) >= nearlyAll ||
		most("fc00::/7") && share(blocks, internet6()) >= nearlyAll
}

// internet4 and internet6 are the public addresses.
func internet4() snapshot.CIDR { return snapshot.CIDR{Prefix: prefix4(), Except: special()} }

func internet6() snapshot.CIDR { return snapshot.CIDR{Prefix: netip.MustParsePrefix("2000::/3")} }

func prefix4() netip.Prefix { return netip.MustParsePrefix("0.0.0.0/0") }

func prefix6() netip.Prefix { return netip.MustParsePrefix("::/0") }

// share returns the share of a block that the blocks cover.
func share(blocks []snapshot.CIDR, whole snapshot.CIDR) float64 {
	target := spans(whole)
	var held []interval
	for _, b := range blocks {
		if b.Prefix.Addr().Is4() == whole.Prefix.Addr().Is4() {
			held = append(held, spans(b)...)
		}
	}
	return size(intersection(union(held), target)) / size(target)
}

// interval is an inclusive range of addresses by their first 64 bits. Narrower ranges, which
// exist in IPv6 only, are ignored.
type interval struct{ first, last uint64 }

// spans returns the addresses of a block: its prefix without its exceptions.
func spans(b snapshot.CIDR) []interval {
	first, last, ok := bounds(b.Prefix)
	if !ok {
		return nil
	}
	var out []interval
	for _, e := range union(exceptions(b)) {
		if e.last < first || e.first > last {
			continue
		}
		if e.first > first {
			out = append(out, interval{first, e.first - 1})
		}
		if e.last >= last {
			return out
		}
		first = e.last + 1
	}
	return append(out, interval{first, last})
}

func exceptions(b snapshot.CIDR) []interval {
	var out []interval
	for _, p := range b.Except {
		if p.Addr().Is4() != b.Prefix.Addr().Is4() {
			continue
		}
		if first, last, ok := bounds(p); ok {
			out = append(out, interval{first, last})
		}
	}
	return out
}

// bounds returns the first 64 bits of the first and last address of a prefix.
func bounds(p netip.Prefix) (first, last uint64, ok bool) {
	bits := p.Bits()
	if bits < 0 || bits > 64 {
		return 0, 0, false
	}
	if p.Addr().Is4() {
		a := p.Masked().Addr().As4()
		first = uint64(binary.BigEndian.Uint32(a[:])) << 32
	} else {
		a := p.Masked().Addr().As16()
		first = binary.BigEndian.Uint64(a[:8])
	}
	return first, first | ^uint64(0)>>bits, true
}

// union returns the intervals sorted, with adjacent ones merged.
func union(list []interval) []interval {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.first, b.first) })
	var out []interval
	for _, i := range list {
		if n := len(out); n > 0 && (i.first <= out[n-1].last || i.first == out[n-1].last+1) {
			out[n-1].last = max(out[n-1].last, i.last)
			continue
		}
		out = append(out, i)
	}
	return out
}

// intersection returns what two sorted lists of disjoint intervals share.
func intersection(a, b []interval) []interval {
	var out []interval
	for _, x := range a {
		for _, y := range b {
			if first, last := max(x.first, y.first), min(x.last, y.last); first <= last {
				out = append(out, interval{first, last})
			}
		}
	}
	return out
}

func size(list []interval) float64 {
	var n float64
	for _, i := range list {
		n += float64(i.last-i.first) + 1
	}
	return n
}

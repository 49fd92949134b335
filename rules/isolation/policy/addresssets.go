package policy

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// addressSets are the named sets of addresses of a cluster, which rules refer to.
type addressSets struct {
	existing *inhabitants // whom the peers of rules are held against
	view     *snapshot.View
	// engines has the sets of each engine, by SetEngine.
	engines [2]struct {
		sets    []namedSet
		unknown []snapshot.Kind // kinds of the engine that were not read completely
	}
	byPeer map[string]resolved // by the selectors of a peer
}

// namedSet is a set with the labels by which it is selected.
type namedSet struct {
	*snapshot.AddressSet
	labels snapshot.Labels
}

// resolved are the addresses of sets, and what could not be determined about them.
type resolved struct {
	cidrs  []netip.Prefix
	doubts []Doubt
}

func newAddressSets(v *snapshot.View) *addressSets {
	x := &addressSets{view: v, byPeer: map[string]resolved{}}
	for e := range x.engines {
		for _, kind := range snapshot.SetEngine(e).Kinds() {
			if !v.Known(kind) {
				x.engines[e].unknown = append(x.engines[e].unknown, kind)
			}
		}
	}
	read := map[snapshot.Ref]bool{}
	for s := range v.AddressSets() {
		read[s.Ref()] = true
		var labels snapshot.Labels
		if ns := v.Namespace(s.Namespace); ns != nil {
			labels = ns.Labels
		}
		e := snapshot.CalicoSets
		if snapshot.CiliumSets.Has(s) {
			e = snapshot.CiliumSets
		}
		x.engines[e].sets = append(x.engines[e].sets, namedSet{s, snapshot.SetLabels(s, labels)})
	}
	// One of which not even the labels could be read may be any set.
	for f := range v.Faults() {
		for e := range x.engines {
			if in := &x.engines[e]; slices.Contains(snapshot.SetEngine(e).Kinds(), f.Resource) && !read[f.Ref] && !slices.Contains(in.unknown, f.Resource) {
				in.unknown = append(in.unknown, f.Resource)
			}
		}
	}
	return x
}

// maxSetCIDRs bounds the ranges of the sets that one peer selects, after compact. More
// than that are not evaluated.
const maxSetCIDRs = 4096

// peer returns the addresses of the sets that a peer selects.
func (x *addressSets) peer(p *snapshot.SetPeer) resolved {
	if p.Name != "" {
		return x.find(p.Engine, p.Name)
	}
	return x.matching(p.Engine, p.Labels)
}

// find returns the set with a name. One that does not exist may be missing from the
// manifests only.
func (x *addressSets) find(e snapshot.SetEngine, name string) resolved {
	for _, s := range x.engines[e].sets {
		if s.Name == name {
			r := x.bounded(e, s.CIDRs)
			r.doubts = append(r.doubts, s.doubts()...)
			return r
		}
	}
	doubts := x.unread(e)
	if len(doubts) == 0 {
		doubts = []Doubt{{Kind: e.Kinds()[0], Why: "CiliumCIDRGroup " + name + " does not exist"}}
	}
	return resolved{doubts: doubts}
}

// matching returns the sets that any of the selectors matches.
func (x *addressSets) matching(e snapshot.SetEngine, selectors []snapshot.Selector) resolved {
	in := &x.engines[e]
	if len(selectors) == 0 || len(in.sets)+len(in.unknown) == 0 {
		return resolved{}
	}
	key := selectorsKey(e, selectors)
	if r, ok := x.byPeer[key]; ok {
		return r
	}
	var cidrs []netip.Prefix
	var doubts []Doubt
	for _, s := range in.sets {
		if slices.ContainsFunc(selectors, func(by snapshot.Selector) bool { return by.Matches(s.labels) }) {
			cidrs = append(cidrs, s.CIDRs...)
			doubts = append(doubts, s.doubts()...)
		}
	}
	r := x.bounded(e, cidrs)
	r.doubts = append(r.doubts, doubts...)
	r.doubts = append(r.doubts, x.unread(e)...)
	x.byPeer[key] = r
	return r
}

// doubts returns a doubt if the addresses of the set are not known.
func (s *namedSet) doubts() []Doubt {
	if !s.Unread {
		return nil
	}
	return []Doubt{{Kind: s.Resource(), Why: "the addresses of " + s.Ref().String() + " could not be read"}}
}

// unread returns a doubt for each kind of sets of an engine that was not read.
func (x *addressSets) unread(e snapshot.SetEngine) []Doubt {
	var out []Doubt
	for _, kind := range x.engines[e].unknown {
		out = append(out, Doubt{Kind: kind, Why: string(kind) + " could not be read"})
	}
	return out
}

func (x *addressSets) bounded(e snapshot.SetEngine, cidrs []netip.Prefix) resolved {
	cidrs = compact(cidrs)
	if len(cidrs) > maxSetCIDRs {
		return resolved{doubts: []Doubt{{Kind: e.Kinds()[0], Why: "it refers to sets with too many addresses"}}}
	}
	return resolved{cidrs: cidrs}
}

// few ranges are kept as they are; of many, the smallest may be left out as long as they
// are less than negligible of all addresses together. A list of blocked addresses can
// be thousands of ranges and close nothing.
const (
	fewCIDRs   = 256
	negligible = 1.0 / 4096
)

// compact returns the ranges without those that another one holds, and without the
// smallest ones where there are many.
func compact(cidrs []netip.Prefix) []netip.Prefix {
	if len(cidrs) <= 1 {
		return cidrs
	}
	sorted := slices.SortedFunc(slices.Values(cidrs), func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Addr().BitLen(), b.Addr().BitLen()), a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	// A prefix comes right before those that it holds.
	out := sorted[:1]
	for _, p := range sorted[1:] {
		if !out[len(out)-1].Overlaps(p) {
			out = append(out, p)
		}
	}
	if len(out) <= fewCIDRs {
		return out
	}
	slices.SortStableFunc(out, func(a, b netip.Prefix) int { return cmp.Compare(a.Bits(), b.Bits()) })
	var dropped [2]float64 // IPv4, IPv6
	for len(out) > fewCIDRs {
		p := out[len(out)-1]
		family := 0
		if !p.Addr().Is4() {
			family = 1
		}
		dropped[family] += 1 / float64(uint64(1)<<min(p.Bits(), 63))
		if dropped[family] > negligible {
			break
		}
		out = out[:len(out)-1]
	}
	return out
}

// resolve returns peers with the addresses of the sets that they refer to, and with the
// pods that they may select. What is not known about these is taken to be everything or
// nothing; the doubts say what that is.
func (x *addressSets) resolve(peers *snapshot.Peers, everything bool) (*snapshot.Peers, []Doubt) {
	if len(peers.Sets)+len(peers.NotSets)+len(peers.Unsure) == 0 {
		return peers, nil
	}
	with := *peers
	with.Sets, with.NotSets = nil, nil
	with.CIDRs, with.Pods, with.Unsure = slices.Clip(peers.CIDRs), slices.Clip(peers.Pods), nil
	var doubts []Doubt
	for i := range peers.Unsure {
		u := &peers.Unsure[i]
		doubts = append(doubts, Doubt{Kind: u.Kind, Why: u.Why})
		if everything {
			with.Pods = append(with.Pods, u.Pods)
		}
	}
	for i := range peers.Sets {
		p := &peers.Sets[i]
		r := x.peer(p)
		doubts = append(doubts, r.doubts...)
		if len(r.doubts) > 0 && everything {
			r.cidrs = []netip.Prefix{prefix4(), prefix6()}
		}
		with.CIDRs = append(with.CIDRs, within(r.cidrs, p)...)
	}
	if len(peers.NotSets) > 0 {
		r := x.matching(snapshot.CalicoSets, peers.NotSets)
		doubts = append(doubts, r.doubts...)
		if len(r.doubts) > 0 && !everything {
			r.cidrs = []netip.Prefix{prefix4(), prefix6()}
		}
		exclude(&with, r.cidrs)
	}
	return &with, doubts
}

// within returns the addresses of sets that count for a peer.
func within(cidrs []netip.Prefix, p *snapshot.SetPeer) []snapshot.CIDR {
	var out []snapshot.CIDR
	for _, c := range cidrs {
		if p.Within == nil {
			out = append(out, snapshot.CIDR{Prefix: c, Except: p.Except})
			continue
		}
		for _, w := range p.Within {
			if !c.Overlaps(w.Prefix) {
				continue
			}
			both := snapshot.CIDR{Prefix: c, Except: slices.Concat(p.Except, w.Except)}
			if w.Prefix.Bits() > c.Bits() {
				both.Prefix = w.Prefix
			}
			out = append(out, both)
		}
	}
	return out
}

// exclude removes addresses from peers.
func exclude(peers *snapshot.Peers, cidrs []netip.Prefix) {
	if len(cidrs) == 0 {
		return
	}
	blocks := peers.CIDRs
	if peers.Internet {
		peers.Internet = false
		blocks = append(blocks, snapshot.CIDR{Prefix: prefix4()}, snapshot.CIDR{Prefix: prefix6()})
	}
	peers.CIDRs = nil
	for _, b := range blocks {
		peers.CIDRs = append(peers.CIDRs, snapshot.CIDR{Prefix: b.Prefix, Except: slices.Concat(b.Except, cidrs)})
	}
	var excluded []snapshot.CIDR
	for _, c := range cidrs {
		excluded = append(excluded, snapshot.CIDR{Prefix: c})
	}
	if coversEverything(excluded, 1) {
		peers.Pods = nil
	}
}

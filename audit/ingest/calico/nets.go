package calico

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// NetworkSet has the fields of a NetworkSet and a GlobalNetworkSet that matter here.
type NetworkSet struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Nets []string `json:"nets"`
	} `json:"spec"`
}

// CIDRs returns the addresses of the set. Calico ignores what it cannot parse
// (updateprocessors/networksetprocessor.go).
func (o *NetworkSet) CIDRs() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range o.Spec.Nets {
		if prefixes, err := parseNets("nets", []string{text}); err == nil {
			out = append(out, prefixes...)
		}
	}
	return out
}

// netSet holds the addresses that an entity selects.
type netSet struct {
	given  bool // false: every address
	blocks []snapshot.CIDR
}

// nets returns the addresses that a rule selects at one end of a connection: its ranges
// or else every address, without the exceptions, and of the rule's IP version.
func (r *rule) nets(e *entityRule) (netSet, error) {
	ranges, err := parseNets("nets", e.Nets)
	if err != nil {
		return netSet{}, err
	}
	except, err := parseNets("notNets", e.NotNets)
	if err != nil {
		return netSet{}, err
	}
	out := netSet{given: len(ranges)+len(except) > 0 || r.IPVersion != nil}
	if !out.given {
		return out, nil
	}
	if len(ranges) == 0 {
		ranges = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
		// Exceptions of IPv4 alone select addresses of IPv4 alone: all of IPv6 would
		// make up for the addresses that they leave out.
		if r.IPVersion != nil || !slices.ContainsFunc(except, is4) || slices.ContainsFunc(except, is6) {
			ranges = append(ranges, netip.PrefixFrom(netip.IPv6Unspecified(), 0))
		}
	}
	for _, prefix := range ranges {
		if r.IPVersion != nil && is4(prefix) != (*r.IPVersion == 4) {
			continue
		}
		block := snapshot.CIDR{Prefix: prefix}
		for _, p := range except {
			if is4(p) == is4(prefix) {
				block.Except = append(block.Except, p)
			}
		}
		out.blocks = append(out.blocks, block)
	}
	return out, nil
}

func is4(p netip.Prefix) bool { return p.Addr().Is4() }

func is6(p netip.Prefix) bool { return !is4(p) }

// parseNets parses ranges. An address without a length is a range of one address.
func parseNets(field string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		if !strings.Contains(text, "/") {
			addr, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", field, err)
			}
			out = append(out, netip.PrefixFrom(addr.WithZone(""), addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}

// whole reports whether every pod has one of the addresses, in at least one IP version. A
// rule that denies IPv6 alone does not deny pods, which almost always have IPv4 as well; a
// rule that allows IPv6 alone does open those that have it.
func (n *netSet) whole(action snapshot.Action) bool {
	return slices.ContainsFunc(n.blocks, func(b snapshot.CIDR) bool {
		if b.Prefix.Bits() != 0 || action == snapshot.Deny && is6(b.Prefix) {
			return false
		}
		return !slices.ContainsFunc(b.Except, mayHoldPods)
	})
}

// mayHoldPods reports whether a range may hold addresses of pods. Loopback, link-local and
// multicast addresses are never those of a pod.
func mayHoldPods(p netip.Prefix) bool {
	for _, never := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "::/127", "fe80::/10", "ff00::/8",
	} {
		if n := netip.MustParsePrefix(never); n.Contains(p.Addr()) && p.Bits() >= n.Bits() {
			return false
		}
	}
	return true
}

// mayBePool reports whether one of the ranges is large enough to be a pool of pod
// addresses: at least 256 addresses.
func (n *netSet) mayBePool() bool {
	return slices.ContainsFunc(n.blocks, func(b snapshot.CIDR) bool {
		return b.Prefix.Addr().BitLen()-b.Prefix.Bits() >= 8
	})
}

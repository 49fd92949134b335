package rules_test

import (
	"maps"
	"math/big"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// packetPort is where a packet goes.
type packetPort struct {
	protocol corev1.Protocol
	port     int32
}

func packetProtocols() []corev1.Protocol {
	return []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
}

func packetDirections() []networkingv1.PolicyType {
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
}

// unheard is a label value, and a namespace, that no policy speaks of.
const unheard = "unheard-of"

// everyLabels returns every set of labels that some selectors can tell apart:
// each key absent, with each value that they speak of, and with one that they do
// not speak of. Keys in always are in each set, for those values and unheard.
func everyLabels(selectors []*metav1.LabelSelector, always map[string][]string) []labels.Set {
	values := map[string][]string{}
	for _, s := range selectors {
		for key, value := range s.MatchLabels {
			values[key] = append(values[key], value)
		}
		for _, e := range s.MatchExpressions {
			values[e.Key] = append(values[e.Key], e.Values...)
		}
	}
	for key, list := range always {
		values[key] = append(values[key], list...)
	}
	sets := []labels.Set{{}}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var longer []labels.Set
		slices.Sort(values[key])
		for _, s := range sets {
			if always[key] == nil {
				longer = append(longer, s)
			}
			for _, value := range append(slices.Compact(values[key]), unheard) {
				longer = append(longer, labels.Merge(s, labels.Set{key: value}))
			}
		}
		sets = longer
	}
	return sets
}

// everyPod returns every pod that the peers of some rules can tell apart, in
// every Namespace that they can.
func everyPod(all []packetRule, namespaces []string) (list []packetEnd) {
	var ofPods, ofNamespaces []*metav1.LabelSelector
	for _, r := range all {
		for _, p := range r.peers {
			if p.PodSelector != nil {
				ofPods = append(ofPods, p.PodSelector)
			}
			if p.NamespaceSelector != nil {
				ofNamespaces = append(ofNamespaces, p.NamespaceSelector)
			}
		}
	}
	for _, ns := range everyLabels(ofNamespaces, map[string][]string{corev1.LabelMetadataName: namespaces}) {
		for _, pod := range everyLabels(ofPods, nil) {
			list = append(list, packetEnd{namespace: ns[corev1.LabelMetadataName], nsLabels: ns, podLabels: pod})
		}
	}
	return list
}

// everyPort returns the ports at which anything can change for some rules, and
// some that everybody knows.
func everyPort(all []packetRule) []int32 {
	list := []int32{1, 53, 80, 443, 8080, 65535}
	for _, r := range all {
		for _, p := range r.ports {
			if p.Port == nil || p.Port.IntVal == 0 {
				continue
			}
			last := p.Port.IntVal
			if p.EndPort != nil {
				last = *p.EndPort
			}
			list = append(list, p.Port.IntVal-1, p.Port.IntVal, p.Port.IntVal+1, last-1, last, last+1)
		}
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(port int32) bool { return port < 1 || port > 65535 })
}

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

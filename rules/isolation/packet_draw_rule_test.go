package isolation_test

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (d *packetDraw) peers() (list []networkingv1.NetworkPolicyPeer) {
	if d.in(4) {
		return nil
	}
	for range 1 + d.IntN(3) {
		var p networkingv1.NetworkPolicyPeer
		switch d.IntN(6) {
		case 0:
			p.PodSelector = d.selector(d.podKeys())
		case 1, 2:
			p.NamespaceSelector = d.selector(d.namespaceKeys())
		case 3:
			p.PodSelector, p.NamespaceSelector = d.selector(d.podKeys()), d.selector(d.namespaceKeys())
		default:
			p.IPBlock = d.block()
		}
		list = append(list, p)
	}
	return list
}

// block draws a range of addresses, mostly one that is a good part of all.
func (d *packetDraw) block() *networkingv1.IPBlock {
	b := &networkingv1.IPBlock{CIDR: oneOf(d, "0.0.0.0/0", "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "0.0.0.0/2", "64.0.0.0/2",
		"128.0.0.0/3", "128.0.0.0/2", "10.0.0.0/8", "8.8.8.0/24", "192.0.2.7/32",
		"::/0", "::/0", "::/1", "8000::/1", "2000::/3", "2000::/4", "3000::/4", "fd00::/8", "2001:db8::7/128")}
	if d.in(2) {
		return b
	}
	whole := netip.MustParsePrefix(b.CIDR)
	for range 1 + d.IntN(3) {
		if e := d.inside(whole); e.IsValid() {
			b.Except = append(b.Except, e.String())
		}
	}
	return b
}

// inside draws a range inside another one: some that people except, some of just
// the size at which the rest is not the world any more.
func (d *packetDraw) inside(whole netip.Prefix) netip.Prefix {
	e := netip.MustParsePrefix(oneOf(d, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.169.254/32", "224.0.0.0/3",
		"16.0.0.0/4", "16.0.0.0/5", "24.0.0.0/6", "128.0.0.0/1", "64.0.0.0/2", "fd00::/8", "2000::/7", "2200::/7", "2000::/8", "3f00::/8", "2001:db8::/32", "8000::/1"))
	if e.Bits() <= whole.Bits() || !whole.Contains(e.Addr()) {
		return netip.Prefix{}
	}
	return e
}

func (d *packetDraw) ports() (list []networkingv1.NetworkPolicyPort) {
	switch d.IntN(5) {
	case 0, 1:
		return nil
	case 2: // the same for every protocol, as far as it goes
		all := d.port()
		for _, protocol := range packetProtocols()[:1+d.IntN(3)] {
			all.Protocol = &protocol
			list = append(list, all)
		}
		return list
	}
	for range 1 + d.IntN(3) {
		list = append(list, d.port())
	}
	return list
}

func (d *packetDraw) port() networkingv1.NetworkPolicyPort {
	var p networkingv1.NetworkPolicyPort
	if !d.in(3) {
		protocol := oneOf(d, packetProtocols()...)
		p.Protocol = &protocol
	}
	number := func(first, last int32) {
		from := intstr.FromInt32(first)
		p.Port = &from
		if last > 0 {
			p.EndPort = &last
		}
	}
	switch d.IntN(8) {
	case 0, 1: // no port
	case 2:
		number(oneOf[int32](d, 1, 53, 80, 443, 8080, 65535), 0)
	case 3:
		number(1, 65535)
	case 4:
		number(1, oneOf[int32](d, 1023, 32767, 65534))
	case 5:
		number(oneOf[int32](d, 2, 1024, 32768, 32769), 65535)
	case 6:
		first := 1 + d.Int32N(65535)
		number(first, first+d.Int32N(65536-first))
	case 7:
		name := intstr.FromString(oneOf(d, "http", "metrics"))
		p.Port = &name
	}
	return p
}

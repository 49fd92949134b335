package cilium

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// peerFields are the fields of a rule that name peers. Those kept as JSON name single
// nodes or services, or groups of a cloud: never the internet or all pods.
type peerFields struct {
	endpoints               []metav1.LabelSelector
	entities                []string
	cidr                    []string
	cidrSet                 []cidrRule
	fqdns                   []fqdnRule
	nodes, groups, services []json.RawMessage
	requires                []json.RawMessage // conditions, not peers
}

// cidrRule is a block of addresses, or a reference to an object with blocks.
type cidrRule struct {
	CIDR          string                `json:"cidr"`
	Except        []string              `json:"except"`
	GroupRef      string                `json:"cidrGroupRef"`
	GroupSelector *metav1.LabelSelector `json:"cidrGroupSelector"`
}

// fqdnRule selects the addresses that names resolve to.
type fqdnRule struct {
	MatchPattern string `json:"matchPattern"`
}

// everyName reports whether the pattern matches every name, whoever owns it. That is so
// of asterisks alone (isDNSWildcard in pkg/fqdn/matchpattern/matchpattern.go), and with
// dots between them for all names of some depth. A pod then reaches any address that it
// can make a name resolve to, which is all of the internet.
func (r *fqdnRule) everyName() bool {
	return strings.Contains(r.MatchPattern, "*") && strings.Trim(strings.TrimSpace(r.MatchPattern), "*.") == ""
}

// selectsNone reports whether a list is set and empty. For lists of FQDNs, services and groups
// it makes no difference (mergeEndpointSelectors in pkg/k8s/apis/cilium.io/utils).
func (p *peerFields) selectsNone() bool {
	return p.endpoints != nil && len(p.endpoints) == 0 || p.nodes != nil && len(p.nodes) == 0 ||
		p.entities != nil && len(p.entities) == 0 || p.cidr != nil && len(p.cidr) == 0 ||
		p.cidrSet != nil && len(p.cidrSet) == 0
}

// count returns how many of the fields name peers.
func (p *peerFields) count() int {
	n := 0
	for _, length := range []int{
		len(p.endpoints), len(p.entities), len(p.cidr), len(p.cidrSet),
		len(p.nodes), len(p.groups), len(p.fqdns), len(p.services),
	} {
		if length > 0 {
			n++
		}
	}
	return n
}

// peers returns the peers of a rule in a policy of the namespace, which is
// empty for a clusterwide policy.
func (s Selectors) peers(namespace string, p *peerFields) (snapshot.Peers, error) {
	var out snapshot.Peers
	// IngressCommonRule.Validate and EgressCommonRule.Validate.
	if p.count() > 1 {
		return out, errors.New("a rule sets two kinds of peers, which Cilium does not combine")
	}
	for i := range p.endpoints {
		selected, err := s.endpoints(&p.endpoints[i])
		if err != nil {
			return out, fmt.Errorf("endpoints: %w", err)
		}
		selected.peer(namespace, &out)
	}
	for _, e := range p.entities {
		if err := addEntity(e, &out); err != nil {
			return out, err
		}
	}
	for _, c := range p.cidr {
		prefix, err := prefixOrAddress(c)
		if err != nil {
			return out, err
		}
		out.CIDRs = append(out.CIDRs, snapshot.CIDR{Prefix: prefix})
	}
	for i := range p.cidrSet {
		if err := p.cidrSet[i].add(s, &out); err != nil {
			return out, err
		}
	}
	for i := range p.fqdns {
		out.Internet = out.Internet || p.fqdns[i].everyName()
	}
	return out, nil
}

// addEntity adds the peers of an entity, as far as they are pods or outside the cluster.
func addEntity(entity string, to *snapshot.Peers) error {
	switch entity {
	case "all":
		to.Everyone = true
	case "world":
		to.Internet = true
	case "world-ipv4":
		to.CIDRs = append(to.CIDRs, snapshot.CIDR{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0)})
	case "world-ipv6":
		to.CIDRs = append(to.CIDRs, snapshot.CIDR{Prefix: netip.PrefixFrom(netip.IPv6Unspecified(), 0)})
	case "cluster":
		to.Pods = append(to.Pods, snapshot.PodPeer{})
	case "host", "remote-node", "kube-apiserver", "ingress", "health", "init", "unmanaged", "none":
	default:
		return fmt.Errorf("unknown entity %q", entity)
	}
	return nil
}

// add adds the block, or the groups. A block never includes a pod of the cluster, whatever
// its addresses ("CIDR rules do not apply to traffic where both sides are either
// managed by Cilium or use an IP address belonging to a node in the cluster").
func (c *cidrRule) add(s Selectors, to *snapshot.Peers) error {
	var except []netip.Prefix
	for _, text := range c.Except {
		e, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("except: %w", err)
		}
		except = append(except, e.Masked())
	}
	switch {
	case c.CIDR != "":
		prefix, err := netip.ParsePrefix(c.CIDR)
		if err != nil {
			return fmt.Errorf("cidr: %w", err)
		}
		for i, e := range except {
			if !prefix.Contains(e.Addr()) {
				return fmt.Errorf("except: %s is not in %s", c.Except[i], c.CIDR)
			}
		}
		to.CIDRs = append(to.CIDRs, snapshot.CIDR{Prefix: prefix.Masked(), Except: except})
	case c.GroupRef != "":
		to.Sets = append(to.Sets, snapshot.SetPeer{Engine: snapshot.CiliumSets, Name: c.GroupRef, Except: except})
	case c.GroupSelector != nil:
		labels, err := s(c.GroupSelector)
		if err != nil {
			return fmt.Errorf("cidrGroupSelector: %w", err)
		}
		for i := range labels {
			// The labels of a group have a source of their own, which may be spelled out.
			labels[i].Key = strings.TrimPrefix(labels[i].Key, "cidrgroup:")
		}
		slices.SortStableFunc(labels, byKey)
		to.Sets = append(to.Sets, snapshot.SetPeer{
			Engine: snapshot.CiliumSets, Labels: []snapshot.Selector{labels}, Except: except,
		})
	default:
		return errors.New("a CIDR rule has no cidr and no group")
	}
	return nil
}

// CIDRGroup has the fields of a CiliumCIDRGroup that matter here.
type CIDRGroup struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		ExternalCIDRs []string `json:"externalCIDRs"`
	} `json:"spec"`
}

// CIDRs returns the addresses of the group. Cilium ignores what is not a CIDR
// (applyCIDRGroup in pkg/policy/k8s/cilium_cidr_group.go).
func (o *CIDRGroup) CIDRs() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range o.Spec.ExternalCIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

// prefixOrAddress parses a prefix, or an address as a prefix of its full length.
func prefixOrAddress(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("cidr: %w", err)
	}
	return prefix.Masked(), nil
}

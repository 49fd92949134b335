package ingest

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/audit/ingest/calico"
	"github.com/eventuallytrue/audit/audit/ingest/cilium"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Custom is a kind that is served by a custom resource: a cluster may or may not
// have it, in versions that come and go. Its objects are ingested as JSON, as they are
// stored, because a typed client would drop the difference between a list that is
// empty and one that is missing.
type Custom struct {
	Kind snapshot.Kind
	// Object is the kind as its objects spell it, such as "HTTPRoute".
	Object string
	// Versions are those that can be ingested, the most preferred first.
	Versions []string
	// Policy is true of the kinds in snapshot.PolicyKinds.
	Policy bool
	// Namespaced is false for kinds that are in no namespace.
	Namespaced bool
	// Only are the objects that matter, where that is not all of the kind. They are
	// read one by one: the program has no use for the others, and may not have the
	// right to list them. It is not an error if one of them does not exist.
	Only []types.NamespacedName
	// With is the group that a kind with Only belongs to in fact: where nothing of
	// that group is served, there is nothing to read.
	With string

	take take
}

// take adds the facts of an object, given as JSON.
type take func(in *Ingester, data []byte, f *snapshot.Facts) error

// errEnded is returned once the context of a reading has ended.
var errEnded = errors.New("the reading has ended")

// ErrOther is returned for an object that is not one of those in Only.
var ErrOther = errors.New("not one of the objects that matter of its kind")

// Take adds the facts of an object, given as JSON. One that can't be read becomes a
// fault. Take returns ErrOther where Only leaves the object out, and an error where no
// object can be read any more.
func (c *Custom) Take(in *Ingester, data []byte, f *snapshot.Facts) error {
	err := in.Add(f, func() error { return c.take(in, data, f) })
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrOther) || errors.Is(err, errEnded) {
		return err
	}
	fault, facts := c.fault(in, data, err)
	if len(c.Only) > 0 && fault.Name != "" && !slices.Contains(c.Only, types.NamespacedName{Namespace: fault.Namespace, Name: fault.Name}) {
		return ErrOther
	}
	AddFault(f, fault)
	f.Append(facts)
	return nil
}

// Customs returns every custom kind that can be ingested, but for host sources.
func Customs() []Custom {
	all := slices.Concat(ciliumKinds(), calicoKinds(), clusterPolicyKinds(), gatewayKinds(), ingressClassParamsKinds(), istioKinds(), gatekeeperKinds())
	for i := range all {
		all[i].Policy = slices.Contains(snapshot.PolicyKinds(), all[i].Kind)
	}
	return all
}

// decoded returns the take of a kind whose objects decode into a T.
func decoded[T any](add func(in *Ingester, o *T, f *snapshot.Facts) error) take {
	return func(in *Ingester, data []byte, f *snapshot.Facts) error {
		o := new(T)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, o); err != nil {
			return err
		}
		return add(in, o, f)
	}
}

// listed returns the take of a kind with one fact an object, all in one list.
func listed[T, F any](fact func(*Ingester, *T) F, list func(*snapshot.Facts) *[]F) take {
	return decoded(func(in *Ingester, o *T, f *snapshot.Facts) error {
		facts := list(f)
		*facts = append(*facts, fact(in, o))
		return nil
	})
}

// ciliumKinds are the kinds of Cilium, and the ConfigMap that configures it.
func ciliumKinds() []Custom {
	policies := func(kind snapshot.Kind, object string, namespaced bool) Custom {
		return Custom{
			Kind: kind, Object: object, Versions: []string{"v2"}, Namespaced: namespaced,
			take: decoded(func(in *Ingester, o *cilium.Policy, f *snapshot.Facts) error {
				f.Policies = append(f.Policies, o.Facts(in.meta(kind.Group(), object, &o.Metadata), in.selector)...)
				return nil
			}),
		}
	}
	sets := func(f *snapshot.Facts) *[]snapshot.AddressSet { return &f.AddressSets }
	return []Custom{
		{
			Kind: snapshot.CiliumCIDRGroups, Object: "CiliumCIDRGroup", Versions: []string{"v2", "v2alpha1"},
			take: listed(func(in *Ingester, o *cilium.CIDRGroup) snapshot.AddressSet {
				m := in.meta(snapshot.CiliumCIDRGroups.Group(), "CiliumCIDRGroup", &o.Metadata)
				return snapshot.AddressSet{Meta: m, Labels: in.labelSet(o.Metadata.Labels), CIDRs: o.CIDRs()}
			}, sets),
		},
		policies(snapshot.CiliumNetworkPolicies, "CiliumNetworkPolicy", true),
		policies(snapshot.CiliumClusterwideNetworkPolicies, "CiliumClusterwideNetworkPolicy", false),
		{
			Kind: snapshot.CiliumConfigs, Object: "ConfigMap", Versions: []string{"v1"}, Namespaced: true,
			Only: cilium.ConfigMaps(), With: snapshot.CiliumNetworkPolicies.Group(),
			take: decoded(func(in *Ingester, o *cilium.ConfigMap, f *snapshot.Facts) error {
				if !slices.Contains(cilium.ConfigMaps(), types.NamespacedName{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}) {
					return ErrOther
				}
				return o.AddTo(f, in.meta("", "ConfigMap", &o.Metadata))
			}),
		},
	}
}

// calicoKinds are the kinds of Calico as its API server or its custom resources
// serve them, and as they are stored, which is spelled alike. The Staged kinds are
// left out: they are never enforced.
func calicoKinds() []Custom {
	policies := func(kind snapshot.Kind, object, version string, namespaced bool) Custom {
		return Custom{
			Kind: kind, Object: object, Versions: []string{version}, Namespaced: namespaced,
			take: decoded(func(in *Ingester, o *calico.Policy, f *snapshot.Facts) error {
				m := in.meta(kind.Group(), object, &o.Metadata)
				if !namespaced {
					m.Namespace = ""
				}
				f.Policies = append(f.Policies, o.Facts(m)...)
				return nil
			}),
		}
	}
	tiers := func(kind snapshot.Kind, version string) Custom {
		return Custom{
			Kind: kind, Object: "Tier", Versions: []string{version},
			take: decoded(func(in *Ingester, o *calico.Tier, f *snapshot.Facts) error {
				f.Tiers = append(f.Tiers, o.Fact(in.meta(kind.Group(), "Tier", &o.Metadata)))
				return nil
			}),
		}
	}
	sets := func(kind snapshot.Kind, object, version string, namespaced bool) Custom {
		return Custom{
			Kind: kind, Object: object, Versions: []string{version}, Namespaced: namespaced,
			take: decoded(func(in *Ingester, o *calico.NetworkSet, f *snapshot.Facts) error {
				m := in.meta(kind.Group(), object, &o.Metadata)
				if !namespaced {
					m.Namespace = ""
				}
				f.AddressSets = append(f.AddressSets, snapshot.AddressSet{
					Meta: m, Labels: in.labelSet(o.Metadata.Labels), CIDRs: o.CIDRs(),
				})
				return nil
			}),
		}
	}
	return []Custom{
		policies(snapshot.CalicoNetworkPolicies, "NetworkPolicy", "v3", true),
		policies(snapshot.CalicoGlobalNetworkPolicies, "GlobalNetworkPolicy", "v3", false),
		tiers(snapshot.CalicoTiers, "v3"),
		policies(snapshot.StoredCalicoNetworkPolicies, "NetworkPolicy", "v1", true),
		policies(snapshot.StoredCalicoGlobalPolicies, "GlobalNetworkPolicy", "v1", false),
		tiers(snapshot.StoredCalicoTiers, "v1"),
		sets(snapshot.CalicoNetworkSets, "NetworkSet", "v3", true),
		sets(snapshot.CalicoGlobalNetworkSets, "GlobalNetworkSet", "v3", false),
		sets(snapshot.StoredCalicoNetworkSets, "NetworkSet", "v1", true),
		sets(snapshot.StoredCalicoGlobalNetworkSets, "GlobalNetworkSet", "v1", false),
	}
}

// clusterPolicyKinds are the kinds of the network policy API
// (sigs.k8s.io/network-policy-api): the two of v1alpha1, and the one that replaced
// them. Amazon's kind of the same name has its shape with the older ports.
func clusterPolicyKinds() []Custom {
	policies := func(kind snapshot.Kind, object string, place placing, versions ...string) Custom {
		return Custom{
			Kind: kind, Object: object, Versions: versions,
			take: decoded(func(in *Ingester, o *clusterPolicy, f *snapshot.Facts) error {
				f.Policies = append(f.Policies, in.clusterPolicyFact(in.meta(kind.Group(), object, &o.Metadata), place, o))
				return nil
			}),
		}
	}
	return []Custom{
		policies(snapshot.AdminNetworkPolicies, "AdminNetworkPolicy", adminPlace, "v1alpha1"),
		policies(snapshot.BaselineAdminNetworkPolicies, "BaselineAdminNetworkPolicy", baselinePlace, "v1alpha1"),
		policies(snapshot.ClusterNetworkPolicies, "ClusterNetworkPolicy", clusterPlace, "v1beta1", "v1alpha2"),
		policies(snapshot.AWSClusterNetworkPolicies, "ClusterNetworkPolicy", clusterPlace, "v1alpha1"),
	}
}

// gatewayKinds are the kinds of the Gateway API. What matters here of their older
// versions is spelled as in v1, and so is the XListenerSet.
//
// ReferenceGrants are left out: the Gateway itself says who may attach to it across
// namespaces, and what a grant allows (backends, certificates) claims no host.
func gatewayKinds() []Custom {
	sets := func(f *snapshot.Facts) *[]snapshot.ListenerSet { return &f.ListenerSets }
	routes := func(f *snapshot.Facts) *[]snapshot.Route { return &f.Routes }
	kind := func(kind snapshot.Kind, object string, take take, versions ...string) Custom {
		return Custom{Kind: kind, Object: object, Versions: versions, Namespaced: true, take: take}
	}
	return []Custom{
		kind(snapshot.Gateways, "Gateway",
			listed((*Ingester).gateway, func(f *snapshot.Facts) *[]snapshot.Gateway { return &f.Gateways }), "v1", "v1beta1", "v1alpha2"),
		kind(snapshot.ListenerSets, "ListenerSet", listed((*Ingester).listenerSet, sets), "v1"),
		kind(snapshot.XListenerSets, "XListenerSet", listed((*Ingester).xListenerSet, sets), "v1alpha1"),
		kind(snapshot.HTTPRoutes, "HTTPRoute", listed((*Ingester).httpRoute, routes), "v1", "v1beta1", "v1alpha2"),
		kind(snapshot.GRPCRoutes, "GRPCRoute", listed((*Ingester).grpcRoute, routes), "v1", "v1alpha2"),
		kind(snapshot.TLSRoutes, "TLSRoute", listed((*Ingester).tlsRoute, routes), "v1", "v1alpha3", "v1alpha2"),
	}
}

// istioKinds are the Gateways of Istio. Its VirtualServices are a host source.
func istioKinds() []Custom {
	return []Custom{{
		Kind: snapshot.IstioGateways, Object: "Gateway", Versions: []string{"v1", "v1beta1", "v1alpha3"}, Namespaced: true,
		take: listed((*Ingester).istioGateway, func(f *snapshot.Facts) *[]snapshot.IstioGateway { return &f.IstioGateways }),
	}}
}

// gatekeeperKinds are the kinds of Gatekeeper that say what it replicates, and what
// its templates need of that.
func gatekeeperKinds() []Custom {
	replications := func(f *snapshot.Facts) *[]snapshot.Replication { return &f.Replications }
	return []Custom{
		{
			Kind: snapshot.ConstraintTemplates, Object: "ConstraintTemplate", Versions: []string{"v1", "v1beta1", "v1alpha1"},
			take: listed((*Ingester).constraintTemplate, func(f *snapshot.Facts) *[]snapshot.ConstraintTemplate { return &f.Templates }),
		},
		{
			Kind: snapshot.GatekeeperConfigs, Object: "Config", Versions: []string{"v1alpha1"}, Namespaced: true,
			take: listed((*Ingester).gatekeeperConfig, replications),
		},
		{
			Kind: snapshot.SyncSets, Object: "SyncSet", Versions: []string{"v1alpha1"},
			take: listed((*Ingester).syncSet, replications),
		},
	}
}

package isolation_test

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policy draws a NetworkPolicy. Of all shapes that the API has, those that come
// near to a verdict are drawn most.
func (d *packetDraw) policy(namespace, name string) {
	p := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
	if d.in(20) {
		p.DeletionTimestamp = packetTime() // in force until it is gone
	}
	p.Spec.PodSelector = *d.selector(d.podKeys())
	p.Spec.PolicyTypes = oneOf(d, nil, []networkingv1.PolicyType{}, []networkingv1.PolicyType{"Ingress"},
		[]networkingv1.PolicyType{"Egress"}, []networkingv1.PolicyType{"Ingress", "Egress"}, []networkingv1.PolicyType{"Egress", "Ingress"})
	for range d.ruleCount() {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: d.peers(), Ports: d.ports()})
	}
	for range d.ruleCount() {
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: d.peers(), Ports: d.ports()})
	}
	d.spoil(p)
	d.cluster = append(d.cluster, p)
}

func (d *packetDraw) ruleCount() int { return oneOf(d, 0, 0, 1, 1, 2, 3) }

// packetKey is a label key with the values that selectors know of.
type packetKey struct {
	name   string
	values []string
}

// podKeys are those of pods; now and then one that a controller sets is among
// them.
func (d *packetDraw) podKeys() []packetKey {
	keys := []packetKey{{"app", []string{"web", "db"}}, {"tier", []string{"front", "back", ""}}}
	if d.in(6) {
		keys = append(keys, packetKey{oneOf(d, "pod-template-hash", "controller-revision-hash", "job-name",
			"apps.kubernetes.io/pod-index", "batch.kubernetes.io/controller-uid"), []string{"0", "w0", "uid-w1"}})
	}
	return keys
}

func (d *packetDraw) namespaceKeys() []packetKey {
	return []packetKey{{"env", []string{"prod", "dev"}}, {corev1.LabelMetadataName, packetNamespaces()[:2]}}
}

// selector draws a selector; half of them select everything.
func (d *packetDraw) selector(keys []packetKey) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if d.in(2) {
		return s
	}
	for range 1 + d.IntN(2) {
		key := oneOf(d, keys...)
		if d.in(3) {
			metav1.AddLabelToSelector(s, key.name, oneOf(d, key.values...))
			continue
		}
		r := metav1.LabelSelectorRequirement{Key: key.name, Operator: oneOf(d, metav1.LabelSelectorOpIn,
			metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			d.Shuffle(len(key.values), func(i, j int) { key.values[i], key.values[j] = key.values[j], key.values[i] })
			r.Values = key.values[:1+d.IntN(len(key.values))]
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

// spoil makes a mistake in some policies that no API server admits.
func (d *packetDraw) spoil(p *networkingv1.NetworkPolicy) {
	if !d.in(25) {
		return
	}
	var peer networkingv1.NetworkPolicyPeer
	switch d.IntN(4) {
	case 0:
		p.Spec.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}}
		return
	case 1:
		peer.IPBlock = &networkingv1.IPBlock{CIDR: "nowhere"}
	case 2:
		peer.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Is"}}}
	}
	if d.in(2) {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{peer}})
		return
	}
	p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{peer}})
}

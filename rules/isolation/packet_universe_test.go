package isolation_test

import (
	"maps"
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
func everyPod(all []packetRule) (list []packetEnd) {
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
	for _, ns := range everyLabels(ofNamespaces, map[string][]string{corev1.LabelMetadataName: packetNamespaces()}) {
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

package isolation_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// byPackets returns what packets make of the cluster, in the lines of
// isolationWords.
func (c packetCluster) byPackets() []string {
	known := map[string]*packetNamespace{}
	of := func(name string) *packetNamespace {
		if known[name] == nil {
			known[name] = &packetNamespace{name: name}
		}
		return known[name]
	}
	for _, o := range c {
		switch o := o.(type) {
		case *corev1.Namespace:
			of(o.Name).object = o
		case *networkingv1.NetworkPolicy:
			of(o.Namespace).policies = append(of(o.Namespace).policies, o)
		}
	}
	var ends []packetEnd
	for _, name := range packetNamespaces() {
		if list := c.workloads(name); len(list) > 0 {
			of(name).workloads = list
			ends = append(ends, of(name).ends(c.pods(name))...)
		}
	}
	lines := []string{}
	for _, n := range known {
		lines = append(lines, n.words(ends)...)
	}
	slices.Sort(lines)
	return lines
}

// packetNamespace is a namespace under judgement. Its Namespace may not be there.
type packetNamespace struct {
	name      string
	object    *corev1.Namespace
	policies  []*networkingv1.NetworkPolicy
	workloads []*packetWorkload
}

// ends returns pods of the namespace as others see them. One in the host's network
// is a node to them.
func (n *packetNamespace) ends(pods []*corev1.Pod) (list []packetEnd) {
	own := labels.Set{corev1.LabelMetadataName: n.name}
	if n.object != nil {
		own = labels.Merge(n.object.Labels, own)
	}
	for _, p := range pods {
		if !p.Spec.HostNetwork {
			list = append(list, packetEnd{namespace: n.name, nsLabels: own, podLabels: p.Labels})
		}
	}
	return list
}

// words returns the lines about the namespace.
func (n *packetNamespace) words(ends []packetEnd) (lines []string) {
	terminating := n.object != nil && n.object.Status.Phase == corev1.NamespaceTerminating
	isolatable := slices.ContainsFunc(n.workloads, func(w *packetWorkload) bool { return !w.host })
	var names []string
	for _, w := range n.workloads {
		names = append(names, w.kind+"/"+w.name)
	}
	var sides [2]packetSide
	for i, d := range packetDirections() {
		sides[i] = newPacketJudge(n.policies, d, ends).side(n.workloads)
		if verdict := sides[i].verdict(); verdict != "" && isolatable && !terminating {
			lines = append(lines, findingWord(n.name, string(d), verdict))
		}
	}
	return append(lines, sideWords(n.name, names, sides[0], sides[1])...)
}

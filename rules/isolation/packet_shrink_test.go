package isolation_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// shrink takes away whatever it can while the judges still differ.
func (c packetCluster) shrink() packetCluster {
	for smaller := true; smaller; {
		smaller = false
		for _, less := range c.without() {
			if less.differ() != "" {
				c, smaller = less, true
				break
			}
		}
	}
	return c
}

// without returns clusters that lack an object of this one, or a part of one.
func (c packetCluster) without() (list []packetCluster) {
	for i := range c {
		list = append(list, slices.Delete(slices.Clone(c), i, i+1))
	}
	for i, o := range c {
		for _, less := range lessOf(o) {
			changed := slices.Clone(c)
			changed[i] = less
			list = append(list, changed)
		}
	}
	return list
}

// lessOf returns copies of an object that each lack a part of it.
func lessOf(o runtime.Object) (list []runtime.Object) {
	switch o := o.(type) {
	case *networkingv1.NetworkPolicy:
		return lessOfPolicy(o)
	case *corev1.Pod:
		for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
			less := o.DeepCopy()
			delete(less.Labels, key)
			list = append(list, less)
		}
		if len(o.OwnerReferences) > 0 {
			less := o.DeepCopy()
			less.OwnerReferences = nil
			list = append(list, less)
		}
	case *corev1.Namespace:
		for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
			less := o.DeepCopy()
			delete(less.Labels, key)
			list = append(list, less)
		}
	}
	return list
}

func lessOfPolicy(p *networkingv1.NetworkPolicy) (list []runtime.Object) {
	// Each change is tried on a copy of its own.
	change := func(take func(*networkingv1.NetworkPolicy) bool) bool {
		less := p.DeepCopy()
		took := take(less)
		if took {
			list = append(list, less)
		}
		return took
	}
	for i := 0; change(func(p *networkingv1.NetworkPolicy) bool { return cut(&p.Spec.PolicyTypes, i) }); i++ {
	}
	for i := 0; change(func(p *networkingv1.NetworkPolicy) bool { return cut(&p.Spec.Ingress, i) }); i++ {
	}
	for i := 0; change(func(p *networkingv1.NetworkPolicy) bool { return cut(&p.Spec.Egress, i) }); i++ {
	}
	// What rules hold is numbered through, whatever it is in.
	for i := 0; change(func(p *networkingv1.NetworkPolicy) bool { return cutInside(p, i) }); i++ {
	}
	return list
}

// cut takes the i-th of a list away and reports whether there is one.
func cut[T any](list *[]T, i int) bool {
	if i >= len(*list) {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}

// cutter takes the n-th of many parts away.
type cutter struct{ n int }

func cutNth[T any](c *cutter, list *[]T) bool {
	if c.n < len(*list) {
		return cut(list, c.n)
	}
	c.n -= len(*list)
	return false
}

// cutInside takes away the n-th peer, port, exception or requirement.
func cutInside(p *networkingv1.NetworkPolicy, n int) bool {
	c := &cutter{n}
	if c.selector(&p.Spec.PodSelector) {
		return true
	}
	for i := range p.Spec.Ingress {
		r := &p.Spec.Ingress[i]
		if c.rule(&r.From, &r.Ports) {
			return true
		}
	}
	for i := range p.Spec.Egress {
		r := &p.Spec.Egress[i]
		if c.rule(&r.To, &r.Ports) {
			return true
		}
	}
	return false
}

func (c *cutter) rule(peers *[]networkingv1.NetworkPolicyPeer, ports *[]networkingv1.NetworkPolicyPort) bool {
	if cutNth(c, peers) || cutNth(c, ports) {
		return true
	}
	for i := range *peers {
		peer := &(*peers)[i]
		if c.selector(peer.PodSelector) || c.selector(peer.NamespaceSelector) || peer.IPBlock != nil && cutNth(c, &peer.IPBlock.Except) {
			return true
		}
	}
	return false
}

func (c *cutter) selector(s *metav1.LabelSelector) bool {
	if s == nil {
		return false
	}
	if cutNth(c, &s.MatchExpressions) {
		return true
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if c.n == 0 {
			delete(s.MatchLabels, key)
			return true
		}
		c.n--
	}
	return false
}

package remedy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// defaultDenies returns a NetworkPolicy for each namespace that lacks a default-deny, for
// exactly the directions in which it does.
func defaultDenies(snap *snapshot.Snapshot, findings []audit.Finding) []*candidate {
	names := policyNames(snap)
	byNamespace := map[string]*candidate{}
	directions := map[string][]networkingv1.PolicyType{}
	var order []string
	for _, f := range findings {
		missing := f.Verdict == string(rules.Missing) || f.Verdict == string(rules.Partial)
		if f.Rule != "default-deny-present" || !missing {
			continue
		}
		ns := f.Subject.Name
		if byNamespace[ns] == nil {
			byNamespace[ns] = &candidate{}
			order = append(order, ns)
		}
		byNamespace[ns].ends = append(byNamespace[ns].ends, f.ID)
		directions[ns] = append(directions[ns], networkingv1.PolicyType(f.Subject.Detail))
	}
	var out []*candidate
	for _, ns := range order {
		types := directions[ns]
		slices.SortFunc(types, func(a, b networkingv1.PolicyType) int { return -strings.Compare(string(a), string(b)) })
		o := networkPolicy(ns, names.free(ns, "default-deny"))
		o.Spec.PolicyTypes = types
		words := strings.ToLower(strings.Join(texts(types), " and "))
		c := byNamespace[ns]
		c.comment = fmt.Sprintf("Denies %s in namespace %s by default.\n", words, ns)
		if slices.Contains(types, networkingv1.PolicyTypeEgress) {
			o.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{dnsRule()}
			c.comment += "DNS stays open; adjust the rule if DNS runs elsewhere.\n"
		}
		c.comment += "Traffic that no other policy allows will be cut. Review it before you apply it."
		c.set(o)
		out = append(out, c)
	}
	return out
}

// narrowed returns a narrower NetworkPolicy in place of each one that opens ingress to
// everyone, where the workloads that it selects declare the ports that they listen on. It
// leaves out a policy that is also about egress, whose rules it would have to repeat.
func narrowed(snap *snapshot.Snapshot, findings []audit.Finding) []*candidate {
	view := snap.View(append(snapshot.PolicyKinds(), snapshot.WorkloadKinds()...)...)
	var out []*candidate
	for _, f := range findings {
		if f.Rule != "default-deny-present" || f.Verdict != "defeated" || f.Subject.Detail != snapshot.DirectionIngress.String() {
			continue
		}
		c := &candidate{ends: []string{f.ID}}
		var objects []*networkingv1.NetworkPolicy
		for p := range view.Policies() {
			opens := slices.ContainsFunc(f.Objects, func(o rules.Object) bool { return o.Ref == p.Ref() })
			if !opens {
				continue
			}
			o := narrower(view, p)
			if o == nil {
				objects = nil
				break
			}
			objects = append(objects, o)
		}
		// A remedy is one object: of several policies that open a namespace, the others
		// have to be narrowed as well.
		if len(objects) != 1 {
			continue
		}
		o := objects[0]
		c.comment = fmt.Sprintf("Replaces NetworkPolicy %s: admits pods of the cluster on the ports that workloads declare.\n"+
			"Traffic that nothing declares will be cut. Review it before you apply it.", o.Name)
		c.set(o)
		out = append(out, c)
	}
	return out
}

// narrower returns a policy that admits only pods of the cluster on declared ports, to the
// pods that a policy selects, or nil if it can't be made.
func narrower(view *snapshot.View, p *snapshot.Policy) *networkingv1.NetworkPolicy {
	if p.Group != networkingv1.GroupName || len(p.Subject) != 1 || p.Isolates[snapshot.DirectionEgress] {
		return nil
	}
	pods, ok := labelSelector(p.Subject[0].Pods)
	if !ok {
		return nil
	}
	var ports []snapshot.PortRange
	for w := range view.Workloads() {
		if w.Namespace == p.Namespace && !w.HostNetwork && p.Subject[0].Pods.Matches(w.PodLabels) {
			ports = append(ports, w.Ports...)
		}
	}
	if len(ports) == 0 {
		return nil
	}
	slices.SortFunc(ports, func(a, b snapshot.PortRange) int {
		if c := strings.Compare(string(a.Protocol), string(b.Protocol)); c != 0 {
			return c
		}
		return int(a.First - b.First)
	})
	o := networkPolicy(p.Namespace, p.Name)
	o.Spec.PodSelector = pods
	o.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	rule := networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}},
	}
	for _, r := range slices.Compact(ports) {
		rule.Ports = append(rule.Ports, port(corev1.Protocol(r.Protocol), r.First))
	}
	o.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{rule}
	return o
}

// labelSelector returns a selector as the API spells it, and whether it can.
func labelSelector(s snapshot.Selector) (metav1.LabelSelector, bool) {
	var out metav1.LabelSelector
	for _, r := range s {
		op := metav1.LabelSelectorOperator(r.Op)
		switch {
		case r.Key == snapshot.ServiceAccountKey || strings.HasPrefix(r.Key, snapshot.ServiceAccountLabelPrefix):
			return out, false
		case r.Op == snapshot.In && len(r.Values) == 1:
			if out.MatchLabels == nil {
				out.MatchLabels = map[string]string{}
			}
			if _, twice := out.MatchLabels[r.Key]; twice {
				return out, false
			}
			out.MatchLabels[r.Key] = r.Values[0]
		case r.Op == snapshot.In, r.Op == snapshot.NotIn, r.Op == snapshot.Exists, r.Op == snapshot.DoesNotExist:
			out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: r.Key, Operator: op, Values: r.Values})
		default:
			return out, false
		}
	}
	return out, true
}

// set makes a policy the object of the candidate.
func (c *candidate) set(o *networkingv1.NetworkPolicy) {
	c.object = o
	c.policies = []snapshot.Policy{ingest.New(nil).NetworkPolicy(o)}
}

func networkPolicy(namespace, name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

// dnsRule allows DNS where Kubernetes installs it ("Customizing DNS Service").
func dnsRule() networkingv1.NetworkPolicyEgressRule {
	return networkingv1.NetworkPolicyEgressRule{
		To: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{snapshot.NamespaceNameLabel: "kube-system"}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": "kube-dns"}},
		}},
		Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, 53), port(corev1.ProtocolTCP, 53)},
	}
}

func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	at := intstr.FromInt32(number)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &at}
}

// names are the names of the NetworkPolicies of each namespace.
type names map[string]map[string]bool

func policyNames(snap *snapshot.Snapshot) names {
	out := names{}
	for p := range snap.View(snapshot.PolicyKinds()...).Policies() {
		if out[p.Namespace] == nil {
			out[p.Namespace] = map[string]bool{}
		}
		out[p.Namespace][p.Name] = true
	}
	return out
}

// free returns a name that no policy of the namespace has: applying an object of an
// existing name would change that one.
func (n names) free(namespace, name string) string {
	out := name
	for i := 2; n[namespace][out]; i++ {
		out = fmt.Sprintf("%s-%d", name, i)
	}
	return out
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = string(t)
	}
	return out
}

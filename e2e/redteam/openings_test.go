package redteam

import (
	"math/rand/v2"
	"time"
)

// opening is a way to open one's own namespace.
type opening struct {
	name  string
	opens [2]bool // ingress, egress
	apply func(r *rand.Rand, a *attack)
}

// openings are the ways that look as if something were left closed.
func openings() []opening {
	ingress, egress, both := [2]bool{true, false}, [2]bool{false, true}, [2]bool{true, true}
	policies := func(name string, opens [2]bool, formats ...string) opening {
		return opening{name, opens, func(r *rand.Rand, a *attack) {
			for _, s := range a.steps[1:] {
				for _, f := range formats {
					o := parse(f, mallory)
					o.created(a.steps[1].at.Add(-time.Minute))
					s.use(o)
				}
			}
		}}
	}
	instead := func(name string, opens [2]bool, format string) opening {
		return opening{name, opens, func(_ *rand.Rand, a *attack) {
			for _, s := range a.steps[1:] {
				s.objects = dropped(s.objects, "NetworkPolicy")
				o := parse(format, mallory)
				o.created(a.steps[1].at.Add(-time.Minute))
				s.use(o)
			}
		}}
	}
	const kube = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: extra, namespace: %s}, spec: {podSelector: {}, "
	const calico = "{apiVersion: projectcalico.org/v3, kind: NetworkPolicy, metadata: {name: extra, namespace: %s}, spec: {"
	const cilium = "{apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy, metadata: {name: extra, namespace: %s}, spec: {endpointSelector: {}, "
	return []opening{
		policies("everybody", ingress, kube+"policyTypes: [Ingress], ingress: [{}]}}"),
		policies("every peer", ingress, kube+"policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}}, {ipBlock: {cidr: 0.0.0.0/0}}]}]}}"),
		policies("every namespace but one", ingress, kube+"policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [nobody]}]}}]}]}}"),
		policies("every namespace without a label", ingress, kube+"policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: nobody, operator: DoesNotExist}]}}]}]}}"),
		policies("every port but one", ingress, kube+"policyTypes: [Ingress], ingress: [{ports: [{port: 1, endPort: 65534, protocol: TCP}]}]}}"),
		policies("every port in halves", ingress, kube+"policyTypes: [Ingress], ingress: [{ports: [{port: 1, endPort: 32767, protocol: TCP}, {port: 32768, endPort: 65535, protocol: TCP}]}]}}"),
		policies("every address but one", egress, kube+"policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [192.0.2.1/32]}}]}]}}"),
		policies("every address in halves", egress, kube+"policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/1}}, {ipBlock: {cidr: 128.0.0.0/1}}]}]}}"),
		policies("two policies with one half each", egress,
			kube+"policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/1}}]}]}}",
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: more, namespace: %s}, spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 128.0.0.0/1}}]}]}}"),
		policies("every pod but a name", egress, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: extra, namespace: %s}, spec: {podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [nobody]}]}, policyTypes: [Egress], egress: [{}]}}"),
		policies("the world of Cilium", egress, cilium+"egress: [{toEntities: [world]}]}}"),
		policies("everything of Cilium", both, cilium+"ingress: [{fromEntities: [all]}], egress: [{toEntities: [all]}]}}"),
		policies("every name of Cilium", egress, cilium+"egress: [{toFQDNs: [{matchPattern: '*'}]}]}}"),
		policies("every address of Cilium but one", egress, cilium+"egress: [{toCIDRSet: [{cidr: 0.0.0.0/0, except: [192.0.2.1/32]}]}]}}"),
		policies("everything of Calico first", ingress, calico+"order: 1, selector: all(), types: [Ingress], ingress: [{action: Allow}]}}"),
		policies("every net of Calico but one", egress, calico+"order: 1, selector: all(), types: [Egress], egress: [{action: Allow, destination: {notNets: [192.0.2.1/32]}}]}}"),
		policies("every port of Calico but one", ingress, calico+"order: 1, selector: all(), types: [Ingress], ingress: [{action: Allow, protocol: TCP, destination: {notPorts: [65535]}}]}}"),
		policies("everything in another tier of Calico", ingress, calico+"tier: security, order: 1, selector: all(), types: [Ingress], ingress: [{action: Allow}]}}"),
		policies("a set of Calico with two halves", egress,
			calico+"order: 1, selector: all(), types: [Egress], egress: [{action: Allow, destination: {selector: 'role == \"friends\"'}}]}}",
			"{apiVersion: projectcalico.org/v3, kind: NetworkSet, metadata: {name: friends, namespace: %s, labels: {role: friends}}, spec: {nets: [0.0.0.0/1, 128.0.0.0/1]}}"),
		{"no policy at all", both, func(_ *rand.Rand, a *attack) {
			for _, s := range a.steps[1:] {
				s.objects = dropped(s.objects, "NetworkPolicy")
			}
		}},
		instead("a policy for pods that are not there", both, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: %s}, spec: {podSelector: {matchLabels: {app: nobody}}, policyTypes: [Ingress, Egress]}}"),
		instead("a policy for one direction", egress, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: %s}, spec: {podSelector: {}, policyTypes: [Ingress]}}"),
		instead("a policy of Calico that is not enforced", both, "{apiVersion: projectcalico.org/v3, kind: StagedNetworkPolicy, metadata: {name: deny, namespace: %s}, spec: {selector: all(), types: [Ingress, Egress]}}"),
		instead("a policy of Cilium that isolates nothing", both, "{apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy, metadata: {name: deny, namespace: %s}, spec: {endpointSelector: {}, enableDefaultDeny: {ingress: false, egress: false}, ingress: [{}], egress: [{}]}}"),
		{"a policy of Calico that denies only what is listed", both, func(_ *rand.Rand, a *attack) {
			for _, s := range a.steps[1:] {
				s.objects = dropped(s.objects, "NetworkPolicy")
				o := parse(calico+"selector: all(), types: [Ingress, Egress], ingress: [{action: Deny, source: {nets: [192.0.2.1/32]}}, {action: Allow}], egress: [{action: Deny, destination: {nets: [192.0.2.1/32]}}, {action: Allow}]}}", mallory)
				o.created(a.steps[1].at.Add(-time.Minute))
				s.use(o)
			}
		}},
	}
}

// dropped returns the objects without those of a kind.
func dropped(objects []object, kind string) []object {
	var out []object
	for _, o := range objects {
		if o.kind() != kind {
			out = append(out, o)
		}
	}
	return out
}

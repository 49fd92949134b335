// Package isolation is the rule default-deny-present: every namespace with
// workloads denies traffic by default.
package isolation

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
	"github.com/eventuallytrue/audit/rules/workloads"
)

// Rule returns the rule default-deny-present.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "default-deny-present",
		Doc: `every namespace with workloads denies traffic by default

A pod that no policy selects accepts traffic from everywhere and may connect to
everywhere. A namespace denies a direction by default if valid policies select
every pod that it could contain, and none of them admits everything. Then a new
workload is isolated until someone opens it.

Ingress and egress are evaluated separately. The verdict is "missing" if no
policy, or not enough of them, denies the direction; "partial" if only some peers
are denied; and "defeated" if an allow-all beside the deny opens it again. A
missing deny has a lower severity if every current workload is isolated anyway,
and a defeated one if it is open only for some workloads or to some peers.

A namespace without live workloads is an advisory, and so is a pod in the host
network, which no policy isolates. Such a pod exempts itself alone: the other pods of
its workload are evaluated, and so is the pod template until a pod of its kind runs. A
pod counts for the controller that it names only if that exists and has the UID that
it gives. Pods that run in a Namespace that is being deleted are an advisory for ten
minutes. If they still run, the deletion is stuck, and they are evaluated as any
others. Policies that are being deleted count until they are gone. Whether the network
plugin enforces a policy can't be detected from objects.

Whatever leaves out next to nothing admits everything, in the policies of every
engine and for several rules together. At most one sixteenth may be left out:

- of the public addresses of IPv4 or of IPv6, for the world; if a plugin also matches
  pods by their addresses, and of each private range, for the cluster;
- of the 65,535 ports of a protocol (4,095);
- of the namespaces that exist, not counting the policy's own. A namespace is left out
  if more than one sixteenth of its pods are.

Of selectors, only those can admit the cluster that also select namespaces and pods
which do not exist yet and have no labels: empty and negative ones (NotIn,
DoesNotExist, and their like in other engines). A list of names never does, however few
namespaces there are. Selectors of what is denied must select every pod there could be.

What is read, and what is not:

- NetworkPolicies, AdminNetworkPolicies, BaselineAdminNetworkPolicies and
  ClusterNetworkPolicies (of the network policy API and of Amazon) are read. Nodes
  and domain names as their peers count as no one.
- Calico's policies and tiers are read in both groups. Peers include the NetworkSets
  and GlobalNetworkSets that a selector matches, by their addresses. Services and
  domains as peers count as no one.
- Cilium's policies are read. A cidrGroupRef or cidrGroupSelector stands for the
  addresses of the CiliumCIDRGroups, and toFQDNs with a pattern of asterisks and dots
  alone for all addresses outside the cluster. Other names, nodes, services and groups
  of a cloud count as no one.
- Cilium's ConfigMap is read for enable-policy, policy-audit-mode, and the switches
  that turn off the enforcement of a kind (enable-k8s-networkpolicy,
  enable-cilium-network-policy, enable-cilium-clusterwide-network-policy and
  enable-k8s-cluster-network-policy). A CiliumNodeConfig is not read.
- Pods are also selected by the name of their ServiceAccount, from the pod or the
  pod template. The labels of ServiceAccounts are not read, nor the name of the cluster
  that Cilium adds to the labels of each pod.
- Other kinds of policies are not read. By default one may affect both directions. An
  FQDNNetworkPolicy of GKE affects egress alone; an EgressFirewall of OVN-Kubernetes
  and an EgressNetworkPolicy of OpenShift can only deny egress to addresses outside
  the cluster.

A direction is not evaluated if the verdict depends on something that was not read: an
unsupported kind of policies, a set of addresses that doesn't exist or could not be
listed, or the labels of a ServiceAccount. The other direction is, and so is a
verdict that is the same whatever was not read.

An object that can't be decoded is named. Its namespace is not evaluated, and for a
cluster-wide policy the namespaces that it may select are not, in the directions that
it may affect.`,
		Severity: rules.High,
		Subject:  rules.SubjectNamespace,
		Needs: slices.Sorted(slices.Values(slices.Concat(snapshot.WorkloadKinds(), snapshot.PolicyKinds(),
			[]snapshot.Kind{snapshot.Namespaces, snapshot.Pods}))),
		Uses:     snapshot.AddressSetKinds(),
		Affected: append(snapshot.WorkloadKinds(), snapshot.Namespaces, snapshot.Pods),
		Settings: []rules.Setting{rules.SettingDirections, rules.SettingExemptNamespaces},
		Run:      run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	live := workloads.Live(in.View)
	policies := policy.Compile(in.View, live)
	res := rules.Result{Unread: policies.Faults()}
	for meta, evaluate := range evaluateNamespaces(in.View, policies, live) {
		var one rules.Result
		if err := rules.Safely(func() { one = resultOf(in, evaluate()) }); err != nil {
			one = failed(in, meta, err)
		}
		res.Add(one)
	}
	return res, nil
}

// resultOf returns what is found in one namespace.
func resultOf(in rules.Input, n *namespaceIsolation) rules.Result {
	var res rules.Result
	exempt := in.Exempt(n.meta.Name)
	res.Isolation = append(res.Isolation, n.row(exempt))
	for _, d := range snapshot.Directions() {
		if exempt || !slices.Contains(in.Directions, d) {
			res.Exempted = append(res.Exempted, n.subject(d))
		}
	}
	if exempt {
		return res
	}
	owner := in.Owner(n.meta)
	res.Advisories = append(res.Advisories, n.advisories(owner)...)
	// A deletion that has just begun neither opens nor resolves anything.
	fresh := n.meta.Deleting() && n.meta.Deletion.Fresh(in.Now)
	for _, d := range in.Directions {
		v, ok := n.violation(d, owner, in)
		if fresh || len(n.notEvaluated[d]) > 0 {
			res.NotEvaluated = append(res.NotEvaluated, n.subject(d))
		}
		switch {
		case len(n.notEvaluated[d]) > 0:
		case !ok:
		case n.workloads == 0:
			res.Advisories = append(res.Advisories, adviseWithoutWorkloads(v))
		case fresh:
			res.Advisories = append(res.Advisories, adviseTerminating(v))
		default:
			res.Violations = append(res.Violations, v)
		}
	}
	return res
}

// failed returns the result for a namespace whose evaluation failed: neither direction
// is evaluated.
func failed(in rules.Input, meta *snapshot.Meta, err error) rules.Result {
	n := &namespaceIsolation{meta: meta}
	kinds := []string{string(snapshot.Namespaces)}
	exempt := in.Exempt(meta.Name)
	res := rules.Result{
		Isolation: []rules.Isolation{{
			Namespace: meta.Name, Ingress: rules.Missing, Egress: rules.Missing, Open: "none", Exempt: exempt,
			NotEvaluated: [2][]string{kinds, kinds},
		}},
		Unread: []snapshot.Fault{{
			Ref: meta.Ref(), Resource: snapshot.Namespaces, Reason: fmt.Sprintf("the policies that apply to it could not be evaluated: %v", err),
		}},
	}
	for _, d := range snapshot.Directions() {
		if exempt || !slices.Contains(in.Directions, d) {
			res.Exempted = append(res.Exempted, n.subject(d))
		} else {
			res.NotEvaluated = append(res.NotEvaluated, n.subject(d))
		}
	}
	return res
}

// evaluateNamespaces evaluates every namespace that exists or that an object is in,
// sorted by name. It yields one at a time, since all results together take more
// memory than the facts.
func evaluateNamespaces(
	v *snapshot.View, policies *policy.Policies, workloads map[string][]*workloads.Workload,
) iter.Seq2[*snapshot.Meta, func() *namespaceIsolation] {
	off := unenforced(v)
	metas := map[string]*snapshot.Meta{}
	for ns := range v.Namespaces() {
		metas[ns.Name] = &ns.Meta
	}
	// Manifests may not include the Namespace.
	missing := func(name string) {
		if metas[name] == nil {
			metas[name] = &snapshot.Meta{Kind: "Namespace", Name: name}
		}
	}
	for name := range workloads {
		missing(name)
	}
	for name := range policies.Namespaces() {
		missing(name)
	}
	unread := newUnread(v, policies.Faults())
	for name := range unread.own {
		missing(name)
	}
	unsupported := map[string][2][]string{}
	for u := range v.Unsupported() {
		kinds := unsupported[u.Namespace]
		for _, d := range snapshot.Directions() {
			// Those that only restrict are among the policies.
			if u.Directions[d] && !u.Restricts {
				kinds[d] = append(kinds[d], string(u.Kind))
			}
		}
		unsupported[u.Namespace] = kinds
	}
	evaluate := func(name string) *namespaceIsolation {
		var labels snapshot.Labels
		if ns := v.Namespace(name); ns != nil {
			labels = ns.Labels
		}
		sets := policies.For(name, labels)
		n := evaluateNamespace(metas[name], off, sets, workloads[name])
		for _, d := range snapshot.Directions() {
			// Some may apply to any namespace.
			n.addUnsupported(d, slices.Concat(unsupported[""][d], unsupported[name][d]))
			n.addUnread(d, unread.about(name, labels, d, sets[d]))
		}
		return n
	}
	return func(yield func(*snapshot.Meta, func() *namespaceIsolation) bool) {
		for _, name := range slices.Sorted(maps.Keys(metas)) {
			if !yield(metas[name], func() *namespaceIsolation { return evaluate(name) }) {
				return
			}
		}
	}
}

// unenforced returns what disables the enforcement of all policies, or nil.
func unenforced(v *snapshot.View) *snapshot.Enforcement {
	for e := range v.Enforcements() {
		if e.Kind == "" {
			return e
		}
	}
	return nil
}

// advisories returns the advisories of a namespace whatever its verdict.
func (n *namespaceIsolation) advisories(owner rules.Owner) []rules.Advisory {
	var out []rules.Advisory
	if message := n.describeNotEvaluated(); message != "" {
		out = append(out, rules.Advisory{
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: n.meta.Name, Detail: "not evaluated"},
			Owners:  []rules.Owner{owner},
			Message: message,
		})
	}
	if len(n.host) > 0 {
		a := rules.Advisory{
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: n.meta.Name, Detail: "host network"},
			Owners:  []rules.Owner{owner},
			Message: rules.Count(len(n.host), "workload") + " with pods in the host network, which no policy isolates",
		}
		for _, w := range n.host {
			a.Objects = append(a.Objects, rules.ObjectOf(w.Meta, owner, reasonHostNetwork, ""))
		}
		out = append(out, a)
	}
	return out
}

func adviseWithoutWorkloads(v rules.Violation) rules.Advisory {
	return rules.Advisory{
		Subject: v.Subject, Owners: v.Owners,
		Message: strings.ToLower(v.Subject.Detail) + " is not denied by default; the namespace has no live workload, but the next one would be open",
	}
}

func adviseTerminating(v rules.Violation) rules.Advisory {
	return rules.Advisory{
		Subject: v.Subject, Owners: v.Owners, Objects: v.Objects,
		Message: strings.ToLower(v.Subject.Detail) + " is not denied by default for workloads that still run in a namespace that is being deleted",
	}
}

package rules_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/eventuallytrue/audit/rules"
)

// byPackets returns what packets make of the cluster, in the lines of
// isolationWords.
func (c packetCluster) byPackets() []string {
	namespaces := map[string]*corev1.Namespace{}
	policies := map[string][]*networkingv1.NetworkPolicy{}
	for _, o := range c {
		switch o := o.(type) {
		case *corev1.Namespace:
			namespaces[o.Name] = o
		case *networkingv1.NetworkPolicy:
			policies[o.Namespace] = append(policies[o.Namespace], o)
		}
	}
	workloads := map[string][]*packetWorkload{}
	var ends []packetEnd
	for _, name := range packetNamespaces() {
		if list := c.workloads(name); len(list) > 0 {
			workloads[name] = list
		}
		own := labels.Set{corev1.LabelMetadataName: name}
		if ns := namespaces[name]; ns != nil {
			own = labels.Merge(ns.Labels, own)
		}
		for _, p := range c.pods(name) {
			if !p.Spec.HostNetwork {
				ends = append(ends, packetEnd{namespace: name, nsLabels: own, podLabels: p.Labels})
			}
		}
	}
	lines := []string{}
	for _, name := range packetNamespaces() {
		if namespaces[name] == nil && policies[name] == nil && workloads[name] == nil {
			continue
		}
		n := &packetNamespace{name: name, workloads: workloads[name]}
		n.terminating = namespaces[name] != nil && namespaces[name].Status.Phase == corev1.NamespaceTerminating
		for i, d := range packetDirections() {
			n.judges[i] = newPacketJudge(policies[name], d, packetNamespaces(), ends)
		}
		lines = append(lines, n.words()...)
	}
	slices.Sort(lines)
	return lines
}

// packetNamespace is a namespace under judgement.
type packetNamespace struct {
	name        string
	terminating bool
	workloads   []*packetWorkload
	judges      [2]*packetJudge // ingress, egress
}

// scopeRanks are the scopes, the narrowest first.
func scopeRanks() []string { return []string{"", "tcp", "cluster", "world", "all"} }

// allowReasons are the reasons of pods that are open by rules, by scope.
func allowReasons() map[string]string {
	return map[string]string{"tcp": "allow-all-tcp", "cluster": "allow-cluster", "world": "allow-world", "all": "allow-all"}
}

// words returns the lines about the namespace.
func (n *packetNamespace) words() (lines []string) {
	row := rules.Isolation{Namespace: n.name}
	for _, w := range n.workloads {
		if !w.host {
			row.Workloads++
		}
	}
	deny := [2]*rules.Denial{&row.Ingress, &row.Egress}
	var reasons [2]map[*packetWorkload]string
	var whole, some [2]bool
	widest := ""
	for i, j := range n.judges {
		*deny[i] = j.deny()
		reasons[i] = map[*packetWorkload]string{}
		open := 0
		for _, w := range n.workloads {
			reason, scope := j.workload(w)
			reasons[i][w] = reason
			if scope != "" {
				open++
				some[i] = true
			}
			widest = widerScope(widest, scope)
		}
		everyPod := j.everyPodOpen()
		widest = widerScope(widest, everyPod)
		whole[i] = everyPod != "" || open > 0 && open == row.Workloads
		some[i] = some[i] || whole[i]
		if verdict := n.verdict(*deny[i], some[i]); verdict != "" && row.Workloads > 0 && !n.terminating {
			lines = append(lines, findingWord(n.name, string(packetDirections()[i]), verdict))
		}
	}
	row.Open, row.Scope = openWord(whole, some), widest
	lines = append(lines, isolationWord(row))
	for _, w := range n.workloads {
		in, out := reasons[0][w], reasons[1][w]
		e := rules.Exposed{Kind: w.kind, Name: w.name}
		if in == out && in != "" {
			e.Direction, e.Reason = "both", in
			lines = append(lines, exposedWord(n.name, e))
			continue
		}
		if e.Direction, e.Reason = "ingress", in; in != "" {
			lines = append(lines, exposedWord(n.name, e))
		}
		if e.Direction, e.Reason = "egress", out; out != "" {
			lines = append(lines, exposedWord(n.name, e))
		}
	}
	return lines
}

func (n *packetNamespace) verdict(deny rules.Denial, open bool) string {
	switch {
	case deny != rules.Present:
		return string(deny)
	case open:
		return "defeated"
	}
	return ""
}

func openWord(whole, some [2]bool) string {
	switch {
	case whole[0] && whole[1]:
		return "both"
	case whole[0]:
		return "ingress"
	case whole[1]:
		return "egress"
	case some[0] || some[1]:
		return "partial"
	}
	return "none"
}

func widerScope(a, b string) string {
	if slices.Index(scopeRanks(), a) > slices.Index(scopeRanks(), b) {
		return a
	}
	return b
}

// deny says whether the direction is denied by default.
func (j *packetJudge) deny() rules.Denial {
	for _, pod := range j.everyPodHere() {
		denies := func(p int) bool { return j.scope([]int{p}) != "all" }
		if !slices.ContainsFunc(j.selecting(pod), denies) {
			return rules.Missing
		}
	}
	return rules.Present
}

// everyPodOpen returns the scope in which policies open every pod that there
// could be: those that each select all of them.
func (j *packetJudge) everyPodOpen() string {
	var policies []int
	for p := range j.policies {
		skips := func(pod labels.Set) bool { return !slices.Contains(j.selecting(pod), p) }
		if !slices.ContainsFunc(j.everyPodHere(), skips) {
			policies = append(policies, p)
		}
	}
	return j.scope(policies)
}

// workload returns why a workload is open, if it is, and in what scope by rules.
func (j *packetJudge) workload(w *packetWorkload) (reason, scope string) {
	if w.host {
		return "host-network", ""
	}
	worst := slices.MaxFunc(w.pods, func(a, b labels.Set) int {
		order := []string{"", "allow-all-tcp", "allow-cluster", "allow-world", "allow-all", "not-selected", "invalid-policy", "no-policy"}
		return slices.Index(order, j.pod(a)) - slices.Index(order, j.pod(b))
	})
	reason = j.pod(worst)
	for s, r := range maps.All(allowReasons()) {
		if r == reason {
			scope = s
		}
	}
	return reason, scope
}

// pod returns why a pod is open, if it is.
func (j *packetJudge) pod(l labels.Set) string {
	selecting := j.selecting(l)
	if len(selecting) > 0 {
		return allowReasons()[j.scope(selecting)]
	}
	for p := range j.policies {
		if j.scope([]int{p}) != "all" {
			return "not-selected"
		}
	}
	if j.invalid > 0 {
		return "invalid-policy"
	}
	return "no-policy"
}

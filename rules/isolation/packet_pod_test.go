package isolation_test

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// selecting returns the policies that select a pod with the given labels.
func (j *packetJudge) selecting(pod labels.Set) (list []int) {
	for i, p := range j.policies {
		if j.selectors.selects(&p.Spec.PodSelector, pod) {
			list = append(list, i)
		}
	}
	return list
}

// everyPodHere returns every pod that the policies can tell apart in their
// namespace.
func (j *packetJudge) everyPodHere() []labels.Set {
	var selectors []*metav1.LabelSelector
	for _, p := range j.policies {
		selectors = append(selectors, &p.Spec.PodSelector)
	}
	return everyLabels(selectors, nil)
}

// pod returns why a pod is open, if it is.
func (j *packetJudge) pod(l labels.Set) string {
	selecting := j.selecting(l)
	if len(selecting) > 0 {
		return allowReason(j.scope(selecting))
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

// allowReason returns the reason for a pod that is open by rules in a scope.
func allowReason(scope string) string {
	switch scope {
	case "":
		return ""
	case "tcp":
		return "allow-all-tcp"
	}
	return "allow-" + scope
}

// widerScope returns the wider of two scopes.
func widerScope(a, b string) string {
	order := []string{"", "tcp", "cluster", "world", "all"}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// worseReason returns the worse of two reasons.
func worseReason(a, b string) string {
	order := []string{"", "allow-all-tcp", "allow-cluster", "allow-world", "allow-all", "not-selected", "invalid-policy", "no-policy"}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

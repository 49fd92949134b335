package isolation_test

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// side judges the direction for some pods.
func (j *tierJudge) side(pods []map[string]string) packetSide {
	var reasons []string
	for _, pod := range pods {
		reasons = append(reasons, j.reason(pod))
	}
	every := labels.Set{}
	var policies []*snapshot.Policy
	deny := [2]bool{true, true}
	for _, pod := range []labels.Set{every, {"app": "web"}, {"app": unheard}} {
		var denied [2]bool
		for i, p := range j.policies {
			for class := range denied {
				denied[class] = denied[class] || meets(p.Subject[0].Pods, pod) && j.alone[i].denies[class]
			}
		}
		deny = [2]bool{deny[0] && denied[0], deny[1] && denied[1]}
	}
	for _, p := range j.policies {
		if len(p.Subject[0].Pods) == 0 {
			policies = append(policies, p)
		}
	}
	word := rules.Missing
	switch deny {
	case [2]bool{true, true}:
		word = rules.Present
	case [2]bool{true, false}:
		word = rules.Partial
	}
	return newPacketSide(word, tierEffectOf(policies, j.direction).byRules, reasons)
}

// reason says why a pod is open, if it is. Where rules do not open it as far as it
// is open, it is "world-not-denied" or "allow-cluster" if it is open so far. Else, if
// a policy that denies anything selects it, it is as open as rules make it, or else
// as it is, for what denies it is passed by. Else it is open for want of a policy.
func (j *tierJudge) reason(pod labels.Set) string {
	var policies []*snapshot.Policy
	guarded, untouched := false, "no-policy"
	for i, p := range j.policies {
		denies := j.alone[i].denies[0] || j.alone[i].denies[1]
		if denies {
			untouched = "not-selected"
		}
		if meets(p.Subject[0].Pods, pod) {
			policies = append(policies, p)
			guarded = guarded || denies
		}
	}
	e := tierEffectOf(policies, j.direction)
	switch {
	case e.scope == e.byRules:
		return allowReason(e.scope)
	case e.scope == "world":
		return "world-not-denied"
	case e.scope == "cluster":
		return allowReason("cluster")
	case guarded && e.byRules != "":
		return allowReason(e.byRules)
	case guarded:
		return allowReason(e.scope)
	}
	return untouched
}

// byPackets returns what packets make of the cluster, in the lines of
// isolationWords.
func (c tierCluster) byPackets() []string {
	var names []string
	for i := range c.Pods {
		names = append(names, fmt.Sprintf("Pod/w%d", i))
	}
	var lines []string
	var sides [2]packetSide
	for i, d := range snapshot.Directions() {
		sides[i] = newTierJudge(&c, d).side(c.Pods)
		if verdict := sides[i].verdict(); verdict != "" && len(c.Pods) > 0 {
			lines = append(lines, findingWord(tierNamespace, d.String(), verdict))
		}
	}
	lines = append(lines, sideWords(tierNamespace, names, sides[0], sides[1])...)
	slices.Sort(lines)
	return lines
}

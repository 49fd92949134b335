package isolation_test

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/eventuallytrue/audit/rules"
)

// packetSide is what is said of one direction of a namespace.
type packetSide struct {
	deny    rules.IsolationState
	reasons []string // of each workload
	whole   bool     // wholly open by rules
	widest  string   // the widest scope in which anything is open by rules
}

// newPacketSide puts together what was found out of a direction: everyPod is the
// scope in which every pod that there could be is open.
func newPacketSide(deny rules.IsolationState, everyPod string, reasons []string) packetSide {
	s := packetSide{deny: deny, reasons: reasons, widest: everyPod}
	open, isolatable := 0, 0
	for _, reason := range reasons {
		if reason != "host-network" {
			isolatable++
		}
		if scope := s.opened(reason); scope != "" {
			open++
			s.widest = widerScope(s.widest, scope)
		}
	}
	s.whole = everyPod != "" || open > 0 && open == isolatable
	return s
}

// opened returns the scope in which a workload is open by rules. Where default-deny
// is present, one that is open for want of a decision counts, too: what denies is
// passed by.
func (s *packetSide) opened(reason string) string {
	for _, scope := range []string{"tcp", "cluster", "world", "all"} {
		if reason == allowReason(scope) {
			return scope
		}
	}
	switch {
	case s.deny != rules.Present || reason == "" || reason == "host-network":
		return ""
	case reason == "world-not-denied":
		return "world"
	}
	return "all"
}

// side judges the direction for some workloads.
func (j *packetJudge) side(workloads []*packetWorkload) packetSide {
	var reasons []string
	for _, w := range workloads {
		worst := ""
		for _, pod := range w.pods {
			worst = worseReason(worst, j.pod(pod))
		}
		if w.host {
			worst = "host-network"
		}
		reasons = append(reasons, worst)
	}
	return newPacketSide(j.deny(), j.everyPodOpen(), reasons)
}

// deny says whether the direction is denied by default.
func (j *packetJudge) deny() rules.IsolationState {
	for _, pod := range j.everyPodHere() {
		denies := func(p int) bool { return j.scope([]int{p}) != "all" }
		if !slices.ContainsFunc(j.selecting(pod), denies) {
			return rules.Missing
		}
	}
	return rules.Present
}

// everyPodOpen returns the scope in which policies open every pod that there could
// be: those that each select all of them.
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

// verdict returns what a finding says, if there is one.
func (s *packetSide) verdict() string {
	switch {
	case s.deny != rules.Present:
		return string(s.deny)
	case s.widest != "":
		return "defeated"
	}
	return ""
}

// sideWords returns the lines about a namespace and its workloads.
func sideWords(namespace string, workloads []string, in, out packetSide) (lines []string) {
	row := rules.Isolation{Namespace: namespace, Ingress: in.deny, Egress: out.deny}
	row.Open, row.Scope = openWord(in, out), widerScope(in.widest, out.widest)
	for i, w := range workloads {
		if in.reasons[i] != "host-network" {
			row.Workloads++
		}
		for _, e := range exposures(in.reasons[i], out.reasons[i]) {
			e.Kind, e.Name, _ = strings.Cut(w, "/")
			lines = append(lines, exposedWord(namespace, e))
		}
	}
	return append(lines, isolationWord(row))
}

// exposures puts two directions into words.
func exposures(in, out string) (list []rules.Exposed) {
	if in == out && in != "" {
		return []rules.Exposed{{Direction: "both", Reason: in}}
	}
	if in != "" {
		list = append(list, rules.Exposed{Direction: "ingress", Reason: in})
	}
	if out != "" {
		list = append(list, rules.Exposed{Direction: "egress", Reason: out})
	}
	return list
}

func openWord(in, out packetSide) string {
	switch {
	case in.whole && out.whole:
		return "both"
	case in.whole:
		return "ingress"
	case out.whole:
		return "egress"
	case in.widest != "" || out.widest != "":
		return "partial"
	}
	return "none"
}

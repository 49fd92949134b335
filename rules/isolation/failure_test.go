package isolation

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// A panic at one namespace leaves that one unevaluated, and costs no finding of others.
func TestPanicAtOneNamespaceCostsThatNamespace(t *testing.T) {
	rule := Rule()
	var b snapshot.Builder
	facts := snapshot.Facts{}
	for _, name := range []string{"calm", "pill"} {
		facts.Namespaces = append(facts.Namespaces, snapshot.Namespace{Meta: snapshot.Meta{Kind: "Namespace", Name: name}})
		facts.Pods = append(facts.Pods, snapshot.Pod{Meta: snapshot.Meta{Kind: "Pod", Namespace: name, Name: "web"}})
	}
	b.Add(facts)
	for _, kind := range append(rule.Needs, rule.Uses...) {
		b.Add(snapshot.Facts{}, snapshot.Read{Kind: kind, Status: snapshot.Listed})
	}
	res, err := rule.Run(rules.Input{
		View:       b.Freeze().View(append(rule.Needs, rule.Uses...)...),
		Directions: []snapshot.Direction{snapshot.DirectionIngress, snapshot.DirectionEgress},
		Exempt:     func(string) bool { return false },
		Previous:   func(string, snapshot.Direction) rules.Previous { return rules.Previous{} },
		Owner: func(m *snapshot.Meta) rules.Owner {
			if m.Name == "pill" || m.Namespace == "pill" {
				panic("nobody thought of this")
			}
			return rules.Owner{Name: "a"}
		},
	})
	if err != nil || len(res.Violations) != 2 || res.Violations[0].Subject.Name != "calm" {
		t.Errorf("violations %+v and error %v", res.Violations, err)
	}
	if len(res.NotEvaluated) != 2 || res.NotEvaluated[0].Name != "pill" {
		t.Errorf("not evaluated %+v", res.NotEvaluated)
	}
	if len(res.Isolation) != 2 || len(res.Isolation[1].KindsNotEvaluated()) != 1 {
		t.Errorf("isolation %+v", res.Isolation)
	}
	if len(res.Unread) != 1 || res.Unread[0].Name != "pill" || !strings.Contains(res.Unread[0].Reason, "nobody thought of this") {
		t.Errorf("unread %+v", res.Unread)
	}
}

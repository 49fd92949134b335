package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestFailuresNameEveryReason(t *testing.T) {
	unread := snapshot.Read{Kind: snapshot.Ingresses, Status: snapshot.Forbidden, Err: "no right"}
	for _, c := range []struct {
		name     string
		res      audit.Result
		complete bool
		want     []audit.Failure
	}{
		{name: "nothing failed", complete: true, res: audit.Result{
			Reads:      []snapshot.Read{{Kind: snapshot.Ingresses, Status: snapshot.Absent}, {Kind: snapshot.Pods, Status: snapshot.Listed}},
			Rules:      []audit.Outcome{{Rule: "r", Status: audit.RuleRan}},
			Deliveries: []audit.Delivery{{Sender: "slack", Owner: "a", Result: audit.DeliverySent}, {Sender: "slack", Owner: "b", Result: audit.DeliveryHeld}},
			Isolation:  []rules.Isolation{{Namespace: "a", NotEvaluated: [2][]string{snapshot.DirectionEgress: {"egressfirewalls"}}}},
		}},
		{name: "a kind that was not read, and the rule that was skipped for it", res: audit.Result{
			Reads: []snapshot.Read{unread}, Rules: []audit.Outcome{{Rule: "r", Status: audit.RuleSkipped, Reason: "ingresses forbidden"}},
		}, want: []audit.Failure{{Stage: audit.StageRead, Where: "ingresses.networking.k8s.io", Reason: "forbidden: no right"}}},
		{
			name: "a rule that was skipped for no kind", res: audit.Result{Rules: []audit.Outcome{{Rule: "r", Status: audit.RuleSkipped}}},
			want: []audit.Failure{{Stage: audit.StageEvaluate, Where: "r", Reason: "skipped"}},
		},
		{name: "a document and a rule", res: audit.Result{
			Problems: []audit.Problem{{Where: "a.yaml", Reason: "no kind"}},
			Rules:    []audit.Outcome{{Rule: "q", Status: audit.RuleFailed, Reason: "panic"}},
		}, want: []audit.Failure{
			{Stage: audit.StageRead, Where: "a.yaml", Reason: "no kind"},
			{Stage: audit.StageEvaluate, Where: "q", Reason: "failed: panic"},
		}},
		{name: "namespaces that had to be evaluated", complete: true, res: audit.Result{MustEvaluate: true, Isolation: []rules.Isolation{
			{Namespace: "a", NotEvaluated: [2][]string{snapshot.DirectionEgress: {"egressfirewalls"}}}, {Namespace: "b", NotEvaluated: [2][]string{snapshot.DirectionEgress: {"egressfirewalls"}}, Exempt: true}, {Namespace: "c"},
		}}, want: []audit.Failure{{Stage: audit.StageEvaluate, Where: "namespace a", Reason: "not evaluated because of egressfirewalls (egress)"}}},
		{name: "what was not published is no gap", complete: true, res: audit.Result{
			Unpublished: []audit.Failure{{Stage: audit.StagePush, Where: "metrics", Reason: "refused"}, {Stage: audit.StageStore, Where: "f-1", Reason: "full"}},
			Deliveries: []audit.Delivery{
				{Sender: "events", Result: audit.DeliveryFailed, Reason: "no right"},
				{Sender: "slack", Owner: "a", Result: audit.DeliveryRefused, Reason: "is_archived"},
			},
		}, want: []audit.Failure{
			{Stage: audit.StageStore, Where: "f-1", Reason: "full"},
			{Stage: audit.StageDeliver, Where: "events", Reason: "failed: no right"},
			{Stage: audit.StageDeliver, Where: "a by slack", Reason: "refused: is_archived"},
			{Stage: audit.StagePush, Where: "metrics", Reason: "refused"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.res.Failures()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if c.res.Complete() != c.complete {
				t.Errorf("complete: %t", c.res.Complete())
			}
		})
	}
}

package rulestest

import (
	"fmt"
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// podsNamed is a sound rule: no namespace has a pod called bad.
func podsNamed() *rules.Rule {
	return &rules.Rule{
		Name:     "pods-named",
		Doc:      "pods have a good name\n\nBecause names matter.",
		Severity: rules.Medium,
		Subject:  rules.SubjectNamespace,
		Needs:    []snapshot.Kind{snapshot.Namespaces, snapshot.Pods},
		Settings: []rules.Setting{rules.SettingExemptNamespaces},
		Run: func(in rules.Input) (rules.Result, error) {
			var res rules.Result
			for ns := range in.View.Namespaces() {
				row := rules.Isolation{Namespace: ns.Name, Ingress: rules.Missing, Egress: rules.Missing, Open: "none"}
				for pod := range in.View.Pods() {
					if pod.Namespace != ns.Name {
						continue
					}
					switch pod.Name {
					case "bad":
						res.Violations = append(res.Violations, badPod(ns, pod, in.Owner(&ns.Meta)))
						row.Exposed = append(row.Exposed, rules.Exposed{Kind: "Pod", Name: pod.Name, Direction: "both", Reason: "no-policy"})
					case "odd":
						res.Advisories = append(res.Advisories, rules.Advisory{
							Subject: rules.Subject{Kind: "Pod", Namespace: ns.Name, Name: pod.Name}, Message: "is an odd name",
						})
					}
				}
				res.Isolation = append(res.Isolation, row)
			}
			return res, nil
		},
	}
}

func badPod(ns *snapshot.Namespace, pod *snapshot.Pod, owner rules.Owner) rules.Violation {
	return rules.Violation{
		Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: ns.Name},
		Verdict: "misnamed",
		Owners:  []rules.Owner{owner},
		Message: fmt.Sprintf("%s is a bad name.", pod.Ref()),
		Cause:   "Nobody thought about it.",
		Remedy:  "Call it good.",
		Objects: []rules.Object{{Ref: pod.Ref(), Owner: owner.Name}},
	}
}

const withFinding = `# title: A pod called bad is a finding.
# finding: shop is misnamed <- Pod shop/bad
# severity: medium
# owners: team-a
# says: Pod shop/bad is a bad name
# says: Nobody thought
# says: Call it good
# isolation: ns=shop ingress=missing egress=missing open=none
# exposed: shop Pod/bad both no-policy
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    owner: team-a
---
apiVersion: v1
kind: Pod
metadata:
  name: bad
  namespace: shop
spec:
  hostNetwork: true
`

const withoutFinding = `# title: A pod with an odd name is an advisory.
# clean
# advisory: shop/odd: is an odd name
# isolation: ns=shop ingress=missing egress=missing open=none
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
---
apiVersion: v1
kind: Pod
metadata:
  name: odd
  namespace: shop
  labels: {app: web}
`

// parsed parses fixtures for a rule.
func parsed(t *testing.T, rule *rules.Rule, texts ...string) []*fixture {
	t.Helper()
	var out []*fixture
	for i, text := range texts {
		f, err := parseFixture(fmt.Sprintf("fixture-%d", i+1), text, rule)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// check runs every check that Run runs.
func check(rule *rules.Rule, fixtures []*fixture) []error {
	errs := checkSet(rule, fixtures)
	for _, f := range fixtures {
		errs = append(errs, checkFixture(rule, f)...)
	}
	return errs
}

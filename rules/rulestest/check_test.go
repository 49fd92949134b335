package rulestest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

func TestSoundRulePasses(t *testing.T) {
	rule := podsNamed()
	for _, err := range check(rule, parsed(t, rule, withFinding, withoutFinding)) {
		t.Error(err)
	}
}

// runThen returns the sound rule with something done to its input before it runs,
// and to its result afterwards.
func runThen(before func(rules.Input), after func(*rules.Result) error) *rules.Rule {
	rule := podsNamed()
	run := rule.Run
	rule.Run = func(in rules.Input) (rules.Result, error) {
		if before != nil {
			before(in)
		}
		res, err := run(in)
		if after != nil {
			err = errors.Join(err, after(&res))
		}
		return res, err
	}
	return rule
}

// Rules that each break one promise, by what the harness must say of them.

func rulesThatDeclareWrongly() map[string]*rules.Rule {
	undocumented := podsNamed()
	undocumented.Doc = "pods have a good name"
	idle := podsNamed()
	idle.Needs = []snapshot.Kind{snapshot.Jobs, snapshot.Namespaces, snapshot.Pods}
	return map[string]*rules.Rule{
		"doc has no text after the title":        undocumented,
		"declares jobs.batch and never reads it": idle,
		"no fixture has an object of jobs.batch": idle,
		"read of ingresses.networking.k8s.io, which the rule does not declare": runThen(func(in rules.Input) {
			in.View.Ingresses()
		}, nil),
	}
}

func rulesThatMisbehave() map[string]*rules.Rule {
	calls := 0
	panicOver := func(name string) *rules.Rule {
		return runThen(func(in rules.Input) {
			for pod := range in.View.Pods() {
				if pod.Name == name && !pod.HostNetwork {
					panic("nobody thought of this")
				}
			}
		}, nil)
	}
	return map[string]*rules.Rule{
		"the rule changes the snapshot": runThen(func(in rules.Input) {
			for pod := range in.View.Pods() {
				pod.HostNetwork = !pod.HostNetwork
			}
		}, nil),
		"the result changes when documents are shuffled": changed(func(v *rules.Violation) {
			calls++
			v.Message += strings.Repeat(" Once more.", calls)
		}),
		"with no .spec.hostNetwork in the Pod of document 2: the rule failed: panic": panicOver("bad"),
		"with nothing but":             panicOver("bare"),
		"the rule failed: out of luck": runThen(nil, func(*rules.Result) error { return errors.New("out of luck") }),
	}
}

func rulesThatFindWrongly() map[string]*rules.Rule {
	return map[string]*rules.Rule{
		"unexpected finding: shop is misnamed <- Pod shop/bad, Pod shop/bad": changed(func(v *rules.Violation) {
			v.Objects = append(v.Objects, v.Objects...)
		}),
		"missing    finding: shop is misnamed <- Pod shop/bad": runThen(nil, func(res *rules.Result) error {
			res.Violations = nil
			return nil
		}),
		"another finding has this subject": runThen(nil, func(res *rules.Result) error {
			res.Violations = append(res.Violations, res.Violations...)
			return nil
		}),
		"no verdict, message, remedy, owner or object":           changed(func(v *rules.Violation) { v.Remedy = "" }),
		"a double space or a formatting error":                   changed(func(v *rules.Violation) { v.Cause = "Two  blanks." }),
		"its subject is a Host, but the rule declares Namespace": changed(func(v *rules.Violation) { v.Subject.Kind = rules.SubjectHost }),
	}
}

// changed returns the sound rule with something done to each of its violations.
func changed(change func(*rules.Violation)) *rules.Rule {
	return runThen(nil, func(res *rules.Result) error {
		for i := range res.Violations {
			change(&res.Violations[i])
		}
		return nil
	})
}

func TestBrokenRuleIsSeenToFail(t *testing.T) {
	for _, broken := range []map[string]*rules.Rule{rulesThatDeclareWrongly(), rulesThatMisbehave(), rulesThatFindWrongly()} {
		for want, rule := range broken {
			t.Run(want, func(t *testing.T) {
				errs := check(rule, parsed(t, rule, withFinding, withoutFinding))
				if !says(errs, want) {
					t.Errorf("nothing of it is said, but %q", errs)
				}
			})
		}
	}
}

// says reports whether some error has the text in it.
func says(errs []error, text string) bool {
	return slices.ContainsFunc(errs, func(err error) bool { return strings.Contains(err.Error(), text) })
}

func TestMissingSortOfFixtureIsSeenToFail(t *testing.T) {
	rule := podsNamed()
	for _, c := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"no fixture at all", nil, "no fixture has a finding"},
		{"only findings", []string{withFinding}, "no fixture is clean"},
		{"only clean ones", []string{withoutFinding}, "no fixture has a finding"},
		{"the same title twice", []string{withFinding, withoutFinding, withoutFinding}, "have the same title"},
		{
			"no object of a declared kind",
			[]string{strings.Split(withoutFinding, "---\napiVersion: v1\nkind: Pod")[0]},
			"no fixture has an object of pods",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if errs := check(rule, parsed(t, rule, c.texts...)); !says(errs, c.want) {
				t.Errorf("got %q, want %q in it", errs, c.want)
			}
		})
	}
}

func TestWrongHeaderIsSeenToFail(t *testing.T) {
	rule := podsNamed()
	for _, c := range []struct{ name, from, to, want string }{
		{"another severity", "severity: medium", "severity: low", "severity is medium, want low"},
		{"another owner", "owners: team-a", "owners: team-b", "owners are team-a, want team-b"},
		{"another text", "says: Nobody", "says: Somebody", `does not say "Somebody thought"`},
		{"another verdict", "is misnamed", "is fine", "missing    finding: shop is fine <- Pod shop/bad"},
		{"another object", "Pod shop/bad\n", "Pod shop/worse\n", "unexpected finding: shop is misnamed <- Pod shop/bad"},
		{"another row", "egress=missing", "egress=present", "unexpected isolation: ns=shop ingress=missing egress=missing open=none"},
		{"another reason", "both no-policy", "both allow-all", "unexpected exposed: shop Pod/bad both no-policy"},
		{"an advisory that is not there", "# severity", "# advisory: shop/odd\n# severity", "missing    advisory: shop/odd"},
		{"an exemption", "open=none", "open=none exempt=yes", "missing    isolation"},
		{"a kind that the rule does not read", "kind: Pod", "kind: Pot", "does not read Pot of /v1"},
		{"a manifest that does not decode", "hostNetwork: true", "hostNetwork: often", "decode Pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(withFinding, c.from, c.to, 1)
			if errs := check(rule, parsed(t, rule, text, withoutFinding)); !says(errs, c.want) {
				t.Errorf("got %q, want %q in it", errs, c.want)
			}
		})
	}
}

func TestAdvisoryThatNoLineIsForFails(t *testing.T) {
	rule := podsNamed()
	text := strings.Replace(withoutFinding, "# advisory: shop/odd: is an odd name\n", "", 1)
	if errs := check(rule, parsed(t, rule, withFinding, text)); !says(errs, "unexpected advisory: shop/odd: is an odd name") {
		t.Errorf("got %q", errs)
	}
	text = strings.Replace(withoutFinding, "# advisory", "# advisory: odd name\n# advisory", 1)
	if errs := check(rule, parsed(t, rule, withFinding, text)); !says(errs, "2 advisory lines match one advisory") {
		t.Errorf("got %q", errs)
	}
}

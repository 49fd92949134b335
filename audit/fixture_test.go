package audit_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// now is the moment of every sweep in these tests.
var now = time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)

// parse returns the config that a file with the given text makes for a set of
// rules.
func parse(t *testing.T, text string, set ...*rules.Rule) *config.Config {
	t.Helper()
	c, err := config.Parse([]byte(text), "audit.yaml", set)
	if err != nil {
		t.Fatalf("config of the test: %v", err)
	}
	return &c
}

// freeze returns a snapshot of facts. Every kind was listed but those that reads
// report otherwise.
func freeze(facts snapshot.Facts, reads ...snapshot.Read) *snapshot.Snapshot {
	var b snapshot.Builder
	for _, kind := range audit.Needs(catalog.All()) {
		b.Add(snapshot.Facts{}, snapshot.Read{Kind: kind, Version: "v1", Status: snapshot.Listed})
	}
	b.Add(facts, reads...)
	return b.Freeze()
}

// rule returns a rule that needs Namespaces and runs run.
func rule(name string, run func(rules.Input) (rules.Result, error)) *rules.Rule {
	return &rules.Rule{
		Name: name, Doc: "a rule of a test\n\nIt says so.", Severity: rules.High,
		Subject: rules.SubjectNamespace, Needs: []snapshot.Kind{snapshot.Namespaces}, Run: run,
	}
}

// finds returns a rule that always has the same result.
func finds(name string, res rules.Result) *rules.Rule {
	return rule(name, func(rules.Input) (rules.Result, error) { return res, nil })
}

// violates returns a rule with a violation on each of some namespaces.
func violates(name string, namespaces ...string) *rules.Rule {
	var res rules.Result
	for _, ns := range namespaces {
		res.Violations = append(res.Violations, rules.Violation{
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: ns}, Owners: []rules.Owner{{Name: "team-a"}},
		})
	}
	return finds(name, res)
}

// marks are what may name an owner on an object.
type marks struct {
	labels, annotations map[string]string
}

func (m marks) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: m.labels, Annotations: m.annotations}
}

func label(key, value string) marks { return marks{labels: map[string]string{key: value}} }

func annotation(key, value string) marks { return marks{annotations: map[string]string{key: value}} }

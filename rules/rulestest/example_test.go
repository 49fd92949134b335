package rulestest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// example: begin

// Rule returns the rule that every pod has a controller.
func Rule() *rules.Rule {
	return &rules.Rule{
		Name: "pod-has-controller",
		Doc: `every pod has a controller

A pod without a controller is not replaced when its node fails.`,
		Severity: rules.Low,
		Subject:  rules.SubjectNamespace,
		Needs:    []snapshot.Kind{snapshot.Pods},
		Run:      run,
	}
}

func run(in rules.Input) (rules.Result, error) {
	broken := map[string]*rules.Violation{} // by namespace
	for pod := range in.View.Pods() {
		if pod.Finished || pod.Controller.Name != "" {
			continue
		}
		v := broken[pod.Namespace]
		if v == nil {
			v = &rules.Violation{
				Subject: rules.Subject{Kind: rules.SubjectNamespace, Name: pod.Namespace},
				Verdict: "uncontrolled",
				Remedy:  "Create the pods with a Deployment.",
			}
			broken[pod.Namespace] = v
		}
		owner := in.Owner(&pod.Meta)
		v.Owners = append(v.Owners, owner)
		v.Objects = append(v.Objects, rules.ObjectOf(&pod.Meta, owner, "no-controller", "has no controller"))
	}
	var res rules.Result
	for namespace, v := range broken {
		v.Message = fmt.Sprintf("Namespace %s has %s without a controller.", namespace, rules.Count(len(v.Objects), "pod"))
		res.Violations = append(res.Violations, *v)
	}
	return res, nil
}

// example: end

// The example in CONTRIBUTING.md passes the harness and is the one above.
func TestExample(t *testing.T) {
	const fixture = "testdata/pod-has-controller/broken.yaml"
	fixtures, err := loadFixtures("testdata/pod-has-controller", Rule())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range check(Rule(), fixtures) {
		t.Error(err)
	}
	source, _, _ := strings.Cut(cutAfter(t, "example_test.go", "// example: begin\n"), "// example: end\n")
	for _, want := range []string{
		"```go\n" + strings.TrimSpace(source) + "\n```",
		"```yaml\n" + strings.TrimSpace(cutAfter(t, fixture, "")) + "\n```",
	} {
		if !strings.Contains(cutAfter(t, "../../CONTRIBUTING.md", ""), want) {
			t.Errorf("CONTRIBUTING.md does not contain:\n%s", want)
		}
	}
}

// cutAfter returns what follows a text in a file.
func cutAfter(t *testing.T, path, text string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), text)
	if !ok {
		t.Fatalf("%s does not contain %q", path, text)
	}
	return rest
}

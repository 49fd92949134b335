package rules

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func sound() *Rule {
	return &Rule{
		Name: "sound-rule", Doc: "a title\nof two lines\n\nAnd a text.", Severity: Low, Subject: SubjectHost,
		Needs: []snapshot.Kind{snapshot.Ingresses}, Run: func(Input) (Result, error) { return Result{}, nil },
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Rule)
		want  string // empty: nothing is wrong
	}{
		{"a sound rule", func(*Rule) {}, ""},
		{"no name", func(r *Rule) { r.Name = "" }, "name is not"},
		{"a name with capitals", func(r *Rule) { r.Name = "Sound" }, "name is not"},
		{"a name with two dashes", func(r *Rule) { r.Name = "sound--rule" }, "name is not"},
		{"a name that ends with a dash", func(r *Rule) { r.Name = "sound-" }, "name is not"},
		{"a long name", func(r *Rule) { r.Name = strings.Repeat("a", 41) }, "longer than 40"},
		{"no doc", func(r *Rule) { r.Doc = "" }, "title \"\" is empty"},
		{"a doc that is only a title", func(r *Rule) { r.Doc = "a title" }, "no text after the title"},
		{"a title with a period", func(r *Rule) { r.Doc = "a title.\n\nText." }, "ends with a period"},
		{"a long title", func(r *Rule) { r.Doc = strings.Repeat("a", 73) + "\n\nText." }, "longer than 72"},
		{"no severity", func(r *Rule) { r.Severity = 0 }, "no severity"},
		{"an unknown subject", func(r *Rule) { r.Subject = "Pod" }, `unknown subject "Pod"`},
		{"no needs", func(r *Rule) { r.Needs = nil }, "needs are empty"},
		{"needs out of order", func(r *Rule) { r.Needs = []snapshot.Kind{snapshot.Pods, snapshot.Jobs} }, "needs are empty, unsorted or contain duplicates"},
		{"a need twice", func(r *Rule) { r.Needs = []snapshot.Kind{snapshot.Pods, snapshot.Pods} }, "needs are empty, unsorted or contain duplicates"},
		{"no Run function", func(r *Rule) { r.Run = nil }, "no Run function"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sound()
			c.spoil(r)
			err := Validate([]*Rule{r})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("Validate = %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("Validate = %v, want %q in it", err, c.want)
			}
		})
	}
	if err := Validate([]*Rule{sound(), sound()}); err == nil || !strings.Contains(err.Error(), "used twice") {
		t.Errorf("Validate of a rule twice = %v", err)
	}
	empty := Validate([]*Rule{{}})
	if empty == nil || strings.Count(empty.Error(), "\n") < 5 {
		t.Errorf("Validate does not say everything at once: %v", empty)
	}
}

func TestTitleAndText(t *testing.T) {
	r := sound()
	if r.Title() != "a title of two lines" || r.Text() != "And a text." {
		t.Errorf("title %q and text %q", r.Title(), r.Text())
	}
}

package rules

import (
	"slices"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// The names of stored findings. If one of them changes, every open finding of
// every cluster is resolved and opened again: never edit this list, only
// add to it.
func TestIDNeverChanges(t *testing.T) {
	for want, c := range map[string]struct {
		rule    string
		subject Subject
	}{
		"one-owner-per-host-479756ef7a1e08a0":   {"one-owner-per-host", Subject{Kind: SubjectHost, Name: "shop.example.com"}},
		"one-owner-per-host-4844796e100e1a21":   {"one-owner-per-host", Subject{Kind: SubjectHost, Name: "* (class nginx)"}},
		"default-deny-present-44249f5ee07ea227": {"default-deny-present", Subject{Kind: SubjectNamespace, Name: "team-a", Detail: "Ingress"}},
		"default-deny-present-280f24f59eadf84f": {"default-deny-present", Subject{Kind: SubjectNamespace, Name: "team-a", Detail: "Egress"}},
		"owner-known-97dacc3bea05a0a5":          {"owner-known", Subject{Kind: SubjectNamespace, Name: "team-a"}},
	} {
		if got := ID(c.rule, c.subject); got != want {
			t.Errorf("ID(%s, %s) = %s, want %s", c.rule, c.subject, got, want)
		}
	}
}

func TestIDTellsEveryFieldApart(t *testing.T) {
	seen := map[string]Subject{}
	for _, s := range []Subject{
		{},
		{Kind: "a"},
		{Namespace: "a"},
		{Name: "a"},
		{Detail: "a"},
		{Name: "a", Detail: "b"},
		{Name: "ab"},
		{Namespace: "a", Name: "b"},
		{Namespace: "ab"},
	} {
		id := ID("rule", s)
		if other, ok := seen[id]; ok {
			t.Errorf("%+v and %+v have one ID", s, other)
		}
		seen[id] = s
	}
	if ID("a", Subject{}) == ID("b", Subject{}) {
		t.Error("two rules have one ID for a subject")
	}
}

func TestSubjectString(t *testing.T) {
	for want, s := range map[string]Subject{
		"shop.example.com": {Kind: SubjectHost, Name: "shop.example.com"},
		"team-a (Egress)":  {Kind: SubjectNamespace, Name: "team-a", Detail: "Egress"},
		"team-a/shop":      {Kind: "Ingress", Namespace: "team-a", Name: "shop"},
	} {
		if s.String() != want {
			t.Errorf("%+v is printed as %q, want %q", s, s, want)
		}
	}
}

func TestSubjectsAreOrdered(t *testing.T) {
	sorted := []Subject{
		{Name: "a"},
		{Name: "a", Kind: "x"},
		{Name: "a", Detail: "Egress"},
		{Name: "a", Detail: "Ingress"},
		{Name: "b"},
		{Namespace: "a", Name: "a"},
		{Namespace: "b"},
	}
	for i := range sorted {
		for j := range sorted {
			if got := sorted[i].Compare(sorted[j]); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("comparing %+v with %+v gives %d", sorted[i], sorted[j], got)
			}
		}
	}
}

func TestObjectsAreOrderedByAge(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC) }
	object := func(name string, created time.Time) Object {
		return Object{Ref: snapshot.Ref{Name: name}, Created: created}
	}
	want := []Object{object("z", at(1)), object("a", at(2)), object("b", at(2)), object("a", at(3)), object("a", time.Time{}), object("b", time.Time{})}
	for i := range want {
		for j := range want {
			if got := CompareObjects(want[i], want[j]); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("comparing %+v with %+v gives %d", want[i], want[j], got)
			}
		}
	}
}

func TestSameOwner(t *testing.T) {
	team := func(name, namespace string) Owner { return Owner{Name: name, Namespace: namespace} }
	for _, c := range []struct {
		name   string
		owners []Owner
		want   bool
	}{
		{"nobody", nil, true},
		{"one", []Owner{team("a", "x")}, true},
		{"a team in two namespaces", []Owner{team("a", "x"), team("a", "y")}, true},
		{"two teams in one namespace", []Owner{team("a", "x"), team("b", "x")}, false},
		{"no owner in one namespace", []Owner{team("", "x"), team("", "x")}, true},
		{"no owner in two namespaces", []Owner{team("", "x"), team("", "y")}, false},
		{"a team and no owner", []Owner{team("a", "x"), team("", "x")}, false},
		{"a team that is called like a namespace", []Owner{team("x", "x"), team("", "x")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := SameOwner(c.owners); got != c.want {
				t.Errorf("SameOwner = %v, want %v", got, c.want)
			}
			slices.Reverse(c.owners)
			if got := SameOwner(c.owners); got != c.want {
				t.Errorf("SameOwner the other way round = %v, want %v", got, c.want)
			}
		})
	}
}

func TestSeverityText(t *testing.T) {
	for s, want := range map[Severity]string{0: "none", Low: "low", Medium: "medium", High: "high", 9: "none"} {
		if s.String() != want {
			t.Errorf("Severity(%d) = %q, want %q", s, s, want)
		}
	}
	for _, s := range []Severity{Low, Medium, High} {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Severity
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s comes back as %s, error %v", s, back, err)
		}
	}
	for _, text := range []string{"", "none", "High", "critical", "3"} {
		s := Medium
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %s", text, s)
		}
		if s != Medium {
			t.Errorf("%q is refused, but leaves %s", text, s)
		}
	}
	if !(Low < Medium && Medium < High && 0 < Low) {
		t.Error("severities are not ordered from none to high")
	}
}

func TestSeverityLower(t *testing.T) {
	for _, c := range []struct {
		from  Severity
		steps uint8
		want  Severity
	}{
		{High, 0, High},
		{High, 1, Medium},
		{High, 2, Low},
		{High, 3, Low},
		{High, 255, Low},
		{Medium, 1, Low},
		{Low, 1, Low},
		{Low, 0, Low},
		{0, 0, Low},
	} {
		if got := c.from.Lower(c.steps); got != c.want {
			t.Errorf("%s lowered by %d is %s, want %s", c.from, c.steps, got, c.want)
		}
	}
}

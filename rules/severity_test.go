package rules

import "testing"

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

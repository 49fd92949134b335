package rules

import "fmt"

// Severity is what a violation weighs. The zero value is none.
type Severity uint8

// The severities, the lightest first.
const (
	Low Severity = iota + 1
	Medium
	High
)

// String returns the severity in lower case, or "none".
func (s Severity) String() string {
	switch s {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	}
	return "none"
}

// UnmarshalText reads low, medium or high.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, v := range []Severity{Low, Medium, High} {
		if v.String() == string(text) {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("severity %q is none of low, medium, high", text)
}

// MarshalText returns what UnmarshalText reads.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Lower returns the severity n steps lighter, at least Low.
func (s Severity) Lower(n uint8) Severity {
	if s <= Low || uint8(s) <= n {
		return Low
	}
	return max(s-Severity(n), Low)
}

package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Hold is how long a new violation is pending before it is opened. The zero
// value opens it at once.
type Hold struct {
	// Sweeps must see it one after the other; For must pass since the first
	// one. One of the two is zero.
	Sweeps int
	For    time.Duration
}

var looksLikeSweeps = regexp.MustCompile(`^([0-9]{1,4}) sweeps?$`)

// UnmarshalText reads a number of sweeps, such as "2 sweeps", or a duration.
func (h *Hold) UnmarshalText(text []byte) error {
	s := string(text)
	if m := looksLikeSweeps.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1])
		*h = Hold{Sweeps: n}
		return nil
	}
	var d Duration
	if err := d.UnmarshalText(text); err != nil {
		return fmt.Errorf("%s is neither a number of sweeps, such as 2 sweeps, nor a duration, such as 30m", shown(s))
	}
	*h = Hold{For: time.Duration(d)}
	return nil
}

// Findings says how findings are kept.
type Findings struct {
	// KeepResolved is how long a resolved finding stays; 30 days by default.
	KeepResolved Duration `yaml:"keepResolved"`
}

// Limits bound what one sweep may do.
type Limits struct {
	// NewFindings is how many findings one sweep may open before it counts as a
	// storm, of which owners are told in one summary; 500 by default.
	NewFindings Count `yaml:"newFindings"`
}

// Count is a whole number above zero.
type Count int

// UnmarshalText reads decimal digits.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("%s is no whole number above zero", shown(string(text)))
	}
	*c = Count(n)
	return nil
}

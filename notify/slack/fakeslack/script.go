package fakeslack

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Step is a request as a Script knows it: the same in every run of one script, in
// whatever order the requests for several channels come.
type Step struct {
	Act     int    // that it came in: see Script.Begin
	Request string // the method and the channel, with the word reply for one in a thread
	N       int    // which of the same requests of the act it is, from 1
}

// String returns the step as a line of a script begins.
func (s Step) String() string { return fmt.Sprintf("%d %s #%d", s.Act, s.Request, s.N) }

// Script says on which requests the server misbehaves, and remembers on which it
// did. Its Decide is for Server.Faults.
type Script struct {
	pick func(Step) Fault

	mu   sync.Mutex
	act  int
	seen map[string]int
	done map[string]Fault // by step
}

// NewScript returns a script that asks a function for the fault of each step.
func NewScript(pick func(Step) Fault) *Script {
	return &Script{pick: pick, seen: map[string]int{}, done: map[string]Fault{}}
}

// Begin begins an act: its requests are counted from 1 again.
func (s *Script) Begin(act int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act, s.seen = act, map[string]int{}
}

// Decide says how to misbehave on a request.
func (s *Script) Decide(r Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Method + " " + r.Channel
	if r.Thread != "" {
		name += " reply"
	}
	s.seen[name]++
	step := Step{Act: s.act, Request: name, N: s.seen[name]}
	f := s.pick(step)
	if f != (Fault{}) {
		s.done[step.String()] = f
	}
	return f
}

// Done returns the faults that came about, by step.
func (s *Script) Done() map[string]Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.done)
}

// String returns the faults that came about, sorted, a line each, as ParseScript
// reads them.
func (s *Script) String() string {
	var lines []string
	for step, f := range s.Done() {
		// A fault is made of numbers and words.
		data, _ := json.Marshal(f)
		lines = append(lines, step+": "+string(data)+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// ParseScript reads what String wrote, as a function that picks those faults.
func ParseScript(text string) (func(Step) Fault, error) {
	faults := map[string]Fault{}
	for line := range strings.Lines(text) {
		step, data, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return nil, fmt.Errorf("read script: %q is no step with a fault", line)
		}
		var f Fault
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			return nil, fmt.Errorf("read script: %s: %w", step, err)
		}
		faults[step] = f
	}
	return func(s Step) Fault { return faults[s.String()] }, nil
}

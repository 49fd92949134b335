package kubetest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Step is a request as a Script knows it. It is the same in every run of one
// script, in whatever order the requests of a client come.
type Step struct {
	Act int // that it came in: see Script.Begin
	// Request is the method, the path and what narrows a list, with the word later
	// where it asks for a later page.
	Request string
	N       int // which of the same requests of the act it is, from 1
	// Again is true where the answer may be an earlier one, so that a lie about
	// the world can be told from one about what was read again to confirm it.
	Again bool
}

// String returns the step as a line of a script begins.
func (s Step) String() string { return fmt.Sprintf("%d %s #%d", s.Act, s.Request, s.N) }

// Script says which requests go wrong, and remembers which did. Its Decide is for a
// Proxy.
type Script struct {
	pick     func(Step) Fault
	mayStale func(*http.Request) bool
	memory   *memory

	mu   sync.Mutex
	act  int
	seen map[string]int
	done map[string]Fault // by step
	all  int
}

// NewScript returns a script that asks a function for the fault of each step.
// Whether a request may be answered with an earlier answer another one says: the
// steps of all others are not Again. Both are called by many goroutines at once.
func NewScript(pick func(Step) Fault, mayStale func(*http.Request) bool) *Script {
	return &Script{pick: pick, mayStale: mayStale, memory: newMemory(), done: map[string]Fault{}}
}

// Begin begins an act: its requests are counted from 1 again.
func (s *Script) Begin(act int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act, s.seen = act, map[string]int{}
}

// Decide is the Decide of a Proxy.
func (s *Script) Decide(r *http.Request) Answer {
	step := s.step(r)
	fault := s.pick(step)
	answer := fault.answer(s.memory)
	if answer == nil {
		return s.memory.remember
	}
	if (fault.Kind == Stale || fault.Kind == Repeated) && (!step.Again || !s.memory.has(fault.Kind, r)) {
		return s.memory.remember
	}
	s.mu.Lock()
	s.done[step.String()] = fault
	s.mu.Unlock()
	return answer
}

func (s *Script) step(r *http.Request) Step {
	name, again := describe(r), s.mayStale(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[name]++
	s.all++
	return Step{Act: s.act, Request: name, N: s.seen[name], Again: again}
}

// describe returns a request as a step names it.
func describe(r *http.Request) string {
	query := r.URL.Query()
	name := r.Method + " " + r.URL.Path
	if field := query.Get("fieldSelector"); field != "" {
		name += "?fieldSelector=" + url.QueryEscape(field)
	}
	if query.Get("continue") != "" {
		name += " later"
	}
	return name
}

// Requests returns how many requests there were.
func (s *Script) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Done returns the faults that came about, by step.
func (s *Script) Done() map[string]Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]Fault{}
	for step, fault := range s.done {
		out[step] = fault
	}
	return out
}

// String returns the faults that came about, sorted, a line each, as ParseScript
// reads them.
func (s *Script) String() string {
	var lines []string
	for step, fault := range s.Done() {
		lines = append(lines, step+": "+fault.String()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// ParseScript reads what String wrote, as a function that picks those faults.
func ParseScript(text string) (func(Step) Fault, error) {
	faults := map[string]Fault{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			return nil, fmt.Errorf("read script: %q is no step with a fault", line)
		}
		fault, err := ParseFault(line[at+2:])
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		faults[line[:at]] = fault
	}
	return func(s Step) Fault { return faults[s.String()] }, nil
}

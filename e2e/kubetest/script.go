package kubetest

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Step identifies a request of a Script. It is the same in every run of a script,
// whatever the order of the requests.
type Step struct {
	Act int // the act it belongs to, see Script.Begin
	// Request is the method, the path and the field selector, followed by "later" if
	// the request is for a later page.
	Request string
	N       int // the number among equal requests of the act, from 1
	// MayBeStale allows an earlier response. Tests use it to distinguish stale lists
	// from stale reads that confirm a finding.
	MayBeStale bool
}

// String returns the step as it appears at the start of a line of a script.
func (s Step) String() string { return fmt.Sprintf("%d %s #%d", s.Act, s.Request, s.N) }

// Script decides which requests go wrong, and records those that did. Pass its Decide
// to a Proxy.
type Script struct {
	pick     func(Step) Fault
	mayStale func(*http.Request) bool
	history  *history

	mu   sync.Mutex
	act  int
	seen map[string]int
	done map[string]Fault // by step
	all  int
}

// NewScript returns a script that calls pick for the fault of each step. mayStale
// reports whether a request may get an earlier response. Both functions must be safe
// for concurrent use.
func NewScript(pick func(Step) Fault, mayStale func(*http.Request) bool) *Script {
	return &Script{pick: pick, mayStale: mayStale, history: newHistory(), done: map[string]Fault{}}
}

// Begin begins an act, which restarts the numbers of steps at 1.
func (s *Script) Begin(act int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act, s.seen = act, map[string]int{}
}

// Decide is the Decide of a Proxy.
func (s *Script) Decide(r *http.Request) Answer {
	step := s.step(r)
	fault := s.pick(step)
	answer := fault.answer(s.history)
	if answer == nil {
		return s.history.remember
	}
	if (fault.Kind == Stale || fault.Kind == Repeated) && (!step.MayBeStale || !s.history.has(fault.Kind, r)) {
		return s.history.remember
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
	return Step{Act: s.act, Request: name, N: s.seen[name], MayBeStale: again}
}

// describe returns the Request of a step.
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

// Requests returns the number of all requests.
func (s *Script) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Applied returns the faults that happened, by step.
func (s *Script) Applied() map[string]Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]Fault{}
	for step, fault := range s.done {
		out[step] = fault
	}
	return out
}

// String returns the faults that happened, one per line and sorted, for ParseScript.
func (s *Script) String() string {
	var lines []string
	for step, fault := range s.Applied() {
		lines = append(lines, step+": "+fault.String()+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// ParseScript returns a function that picks the faults in the output of String.
func ParseScript(text string) (func(Step) Fault, error) {
	faults := map[string]Fault{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndex(line, ": ")
		if at < 0 {
			return nil, fmt.Errorf("read script: %q is not a step with a fault", line)
		}
		fault, err := ParseFault(line[at+2:])
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		faults[line[:at]] = fault
	}
	return func(s Step) Fault { return faults[s.String()] }, nil
}

// Odds are the probabilities of faults.
type Odds struct {
	// Once is the probability for each request, Always that for all equal requests
	// of an act, which a retry can't overcome.
	Once, Always float64
}

// Seeded returns a function that picks random faults. The choice depends only on the
// seed, the step and the odds of the act.
func Seeded(seed uint64, odds func(act int) Odds) func(Step) Fault {
	return func(s Step) Fault {
		o := odds(s.Act)
		same := s
		same.N = 0
		if r := randFor(seed, same.String()); r.Float64() < o.Always {
			return drawFault(r, s)
		}
		if r := randFor(seed, s.String()); r.Float64() < o.Once {
			return drawFault(r, s)
		}
		return Fault{}
	}
}

// randFor returns a random source for a name.
func randFor(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, seed)
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// drawFault draws a fault that is possible for a step.
func drawFault(r *rand.Rand, s Step) Fault {
	// Rare, because a request that hangs takes the whole timeout.
	if r.IntN(200) == 0 {
		return Fault{Kind: Hung}
	}
	kinds := []FaultKind{Refused, Refused, Blocked, Delayed, Dropped, Lost, Torn, Truncated}
	if s.MayBeStale {
		kinds = append(kinds, Shuffled, Stale, Stale)
		if strings.HasSuffix(s.Request, " later") {
			kinds = append(kinds, Repeated)
		}
	}
	f := Fault{Kind: kinds[r.IntN(len(kinds))]}
	switch f.Kind {
	case Refused:
		codes := []int{
			http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests,
			http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}
		if !strings.HasPrefix(s.Request, http.MethodGet) {
			codes = append(codes, http.StatusConflict)
		}
		f.N = codes[r.IntN(len(codes))]
	case Blocked:
		codes := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable}
		f.N = codes[r.IntN(len(codes))]
	case Delayed:
		f.N = 1 + r.IntN(20)
	case Torn:
		f.N = r.IntN(2000)
	case Truncated:
		f.N = 1 + r.IntN(200)
	case Shuffled:
		f.N = r.IntN(1000)
	case Stale:
		f.N = r.IntN(3)
	}
	return f
}

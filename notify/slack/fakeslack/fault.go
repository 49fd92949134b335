package fakeslack

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is how the server fails a request. The zero value is no fault.
type Fault struct {
	// Status is returned with an empty body, or with Error as Slack returns its codes.
	Status int `json:"status,omitempty"`
	// RetryAfter is returned with Status, in whole seconds.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Error is returned as Slack returns its error codes.
	Error string `json:"error,omitempty"`
	// Cut closes the connection without a response.
	Cut bool `json:"cut,omitempty"`
	// Hang does not respond until the client gives up.
	Hang bool `json:"hang,omitempty"`
	// Stored makes the request take effect before the fault: the message exists, but the
	// client does not know.
	Stored bool `json:"stored,omitempty"`
}

// Faults makes the server call a function for the fault of each request, one request at a
// time; nil: no more faults.
func (s *Server) Faults(decide func(Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = decide
}

// FailNext makes the next requests fail, with one fault each.
func (s *Server) FailNext(faults ...Fault) {
	s.Faults(func(Request) Fault {
		if len(faults) == 0 {
			return Fault{}
		}
		next := faults[0]
		faults = faults[1:]
		return next
	})
}

// arrived records a request and returns its fault.
func (s *Server) arrived(c call) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Request{
		Number: len(s.requests) + 1, Method: c.method,
		Channel: c.args["channel"], Thread: c.args["thread_ts"], TS: c.args["ts"],
		ClientMessageID: c.args["client_msg_id"],
	}
	s.requests = append(s.requests, r)
	if s.faults == nil {
		return Fault{}
	}
	return s.faults(r)
}

// Step identifies a request of a Script. It is the same in every run of the script,
// regardless of the order in which requests for several channels arrive.
type Step struct {
	Act     int    // see Script.Begin
	Request string // the method and the channel, followed by "reply" for one in a thread
	N       int    // counts equal requests of an act, from 1
}

// String returns the beginning of a line of a script.
func (s Step) String() string { return fmt.Sprintf("%d %s #%d", s.Act, s.Request, s.N) }

// Script chooses the faults of requests, and remembers them. Pass its Decide to
// Server.Faults.
type Script struct {
	pick func(Step) Fault

	mu   sync.Mutex
	act  int
	seen map[string]int
	done map[string]Fault // by step
}

// NewScript returns a script that calls a function for the fault of each step.
func NewScript(pick func(Step) Fault) *Script {
	return &Script{pick: pick, seen: map[string]int{}, done: map[string]Fault{}}
}

// Begin starts an act: its requests are counted from 1 again.
func (s *Script) Begin(act int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act, s.seen = act, map[string]int{}
}

// Decide returns the fault of a request.
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

// Done returns the faults so far, by step.
func (s *Script) Done() map[string]Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.done)
}

// String returns the faults so far as ParseScript reads them: sorted, one per line.
func (s *Script) String() string {
	var lines []string
	for step, f := range s.Done() {
		// A fault contains only numbers and strings.
		data, _ := json.Marshal(f)
		lines = append(lines, step+": "+string(data)+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// ParseScript parses the result of String, and returns a function that picks those faults.
func ParseScript(text string) (func(Step) Fault, error) {
	faults := map[string]Fault{}
	for line := range strings.Lines(text) {
		step, data, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return nil, fmt.Errorf("read script: %q is not a step with a fault", line)
		}
		var f Fault
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			return nil, fmt.Errorf("read script: %s: %w", step, err)
		}
		faults[step] = f
	}
	return func(s Step) Fault { return faults[s.String()] }, nil
}

// Seeded returns a function that picks faults at random; odds returns the probability of a
// fault for each request of an act. The choice depends only on the seed, the step and the
// odds.
func Seeded(seed uint64, odds func(act int) float64) func(Step) Fault {
	return func(s Step) Fault {
		h := fnv.New64a()
		_ = binary.Write(h, binary.BigEndian, seed)
		_, _ = h.Write([]byte(s.String()))
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		if r.Float64() >= odds(s.Act) {
			return Fault{}
		}
		return draw(r)
	}
}

// draw picks a fault.
func draw(r *rand.Rand) Fault {
	// A request that hangs takes all the time that the client has.
	if r.IntN(100) == 0 {
		return Fault{Hang: true, Stored: r.IntN(2) == 0}
	}
	faults := []Fault{
		{Cut: true},
		{Cut: true, Stored: true},
		{Cut: true, Stored: true},
		{Status: http.StatusTooManyRequests, RetryAfter: time.Second},
		{Status: http.StatusTooManyRequests},
		{Status: http.StatusInternalServerError},
		{Status: http.StatusInternalServerError, Stored: true},
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusOK}, // an empty body
		{Status: http.StatusForbidden},
		{Error: "internal_error"},
		{Error: "fatal_error", Stored: true},
		{Error: "ratelimited"},
		{Error: "invalid_blocks"},
		{Error: "thread_not_found"},
		{Error: "channel_not_found"},
		{Error: "invalid_auth"},
	}
	return faults[r.IntN(len(faults))]
}

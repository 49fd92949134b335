package fakeslack

import (
	"encoding/json"
	"net/http"
	"time"
)

// Fault is how the server misbehaves on a request. The zero value is that it
// does not.
type Fault struct {
	// Status is answered, with an empty page and without a look at the request.
	Status int `json:"status,omitempty"`
	// RetryAfter goes with Status, in whole seconds.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Error is answered as Slack answers what it refuses.
	Error string `json:"error,omitempty"`
	// Cut ends the connection without an answer.
	Cut bool `json:"cut,omitempty"`
	// Hang leaves the client without an answer until it gives up.
	Hang bool `json:"hang,omitempty"`
	// Stored makes the request take effect before the server misbehaves: the
	// message is there and the client does not know.
	Stored bool `json:"stored,omitempty"`
}

// Faults makes the server ask how to misbehave on each request from now on. It
// is asked for one request at a time. Nil: it behaves.
func (s *Server) Faults(decide func(Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = decide
}

// FailNext makes the server misbehave on its next requests, one fault for each.
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

// arrived counts a request and decides how the server misbehaves on it.
func (s *Server) arrived(c call) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Request{
		Number: len(s.requests) + 1, Method: c.method,
		Channel: c.args["channel"], Thread: c.args["thread_ts"], TS: c.args["ts"],
	}
	s.requests = append(s.requests, r)
	if s.faults == nil {
		return Fault{}
	}
	return s.faults(r)
}

// misbehave answers as the fault says, if it says anything.
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f Fault) bool {
	switch {
	case f.Cut:
		// The one panic that the HTTP server takes for an order.
		panic(http.ErrAbortHandler)
	case f.Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.Status == http.StatusTooManyRequests && f.RetryAfter > 0:
		tooFast(w, f.RetryAfter)
	case f.Status != 0:
		w.WriteHeader(f.Status)
	case f.Error != "":
		if _, ok := s.config.Webhooks[r.URL.Path]; ok {
			word, status := webhookWord(f.Error)
			plain(w, status, word)
			return true
		}
		writeJSON(w, http.StatusOK, map[string]any{"ok": false, "error": f.Error})
	default:
		return false
	}
	return true
}

// serveFaults lets another process order faults: POST takes a list of them, for
// the next requests, or one that holds for all until DELETE.
func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		s.Faults(nil)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var next []Fault
	var always Fault
	switch {
	case json.Unmarshal(raw, &next) == nil:
		s.FailNext(next...)
	case json.Unmarshal(raw, &always) == nil:
		s.Faults(func(Request) Fault { return always })
	default:
		http.Error(w, "neither a fault nor a list of them", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

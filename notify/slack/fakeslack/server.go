package fakeslack

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Membership says whether the app may post into a channel.
type Membership string

// The memberships of an app.
const (
	Member   Membership = "member" // also where it is left empty
	Outside  Membership = "outside"
	Archived Membership = "archived"
)

// Config is the workspace that a server plays.
type Config struct {
	Token    string                // of the app; any other is refused
	Channels map[string]Membership // by ID; others do not exist
	Names    map[string]string     // ID by name, such as team-a for #team-a
	Webhooks map[string]string     // channel by path, such as /services/T0/B0/secret
	// Allowed are the control sequences that messages may hold, such as
	// <!subteam^S0123> or <https://example.com|runbook>.
	Allowed []string
	// Interval is the least time between two messages into a channel. Zero is a
	// second, which is Slack's; a negative one is none.
	Interval time.Duration
	// UpdatesPerMinute is how many calls of chat.update the workspace takes in a
	// minute; zero is any number.
	UpdatesPerMinute int
	Now              func() time.Time // nil: time.Now
	// Record receives each message and update as a line of JSON; nil: none does.
	Record io.Writer
}

// Server is a workspace and the HTTP handler that serves it. It may be used by
// several goroutines at once.
type Server struct {
	config Config
	url    string // where Start serves it

	mu       sync.Mutex
	messages []*Message           // in the order of their arrival
	last     map[string]time.Time // of the last message, by channel
	updates  []time.Time          // of the last minute
	requests []Request            // all of them, in order
	refusals []Refusal
	faults   func(Request) Fault
}

// New returns a server that nothing listens for yet.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Interval == 0 {
		c.Interval = time.Second
	}
	return &Server{config: c, last: map[string]time.Time{}}
}

// Start serves a workspace on a free local port until the test ends.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	s := New(c)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		// Close waits for requests, and those that hang end with their connection.
		h.CloseClientConnections()
		h.Close()
	})
	s.url = h.URL
	return s
}

// Channel makes a channel, or changes what the app may do there, and gives it names,
// which are no other channel's any more. The maps of the config are left alone.
func (s *Server) Channel(id string, m Membership, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Channels = with(s.config.Channels, id, m)
	for _, name := range names {
		s.config.Names = with(s.config.Names, name, id)
	}
}

// with returns a copy of a map in which a key has another value.
func with[V any](m map[string]V, key string, value V) map[string]V {
	out := map[string]V{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// URL is where Start serves the workspace, without a slash at its end.
func (s *Server) URL() string { return s.url }

// APIURL is the root of the Web API, as slack.OptionAPIURL takes it.
func (s *Server) APIURL() string { return s.url + "/api/" }

// ServeHTTP answers a request of Slack's, or one that steers the server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/" + postMessage, "/api/" + updateMessage:
		s.serveMethod(w, r, r.URL.Path[len("/api/"):])
	case "/fakeslack/messages":
		writeJSON(w, http.StatusOK, s.Messages())
	case "/fakeslack/refusals":
		writeJSON(w, http.StatusOK, s.Refusals())
	case "/fakeslack/faults":
		s.serveFaults(w, r)
	default:
		s.serveWebhook(w, r)
	}
}

// Request is a call of the API or of a webhook, answered or not.
type Request struct {
	Number  int    `json:"number"` // of the server's requests, from 1
	Method  string `json:"method"` // chat.postMessage, chat.update or webhook
	Channel string `json:"channel"`
	Thread  string `json:"thread,omitempty"`
	TS      string `json:"ts,omitempty"` // of the message to update
}

// Requests returns every request so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// The client that has gone is not ours to tell.
	_ = json.NewEncoder(w).Encode(v)
}

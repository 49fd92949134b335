// Package fakeslack is a fake Slack for tests: a server for chat.postMessage, chat.update
// and incoming webhooks that keeps what it is sent, and fails on demand.
//
// It is stricter than Slack. It enforces every documented limit exactly. Where Slack's
// documentation is silent, it is strict: it limits the total characters of all blocks, it
// requires a fallback text beside blocks, it accepts one message a second per channel
// without bursts, and it rejects arguments and blocks that it does not know. It also rejects
// what a sender of untrusted text must not send: a control sequence such as <!channel> that
// the test did not allow, unescaped characters, and invisible characters. It keeps each
// rejected request as a Refusal, so that tests can assert that there are none.
package fakeslack

import (
	"io"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Membership says whether the app may post to a channel.
type Membership string

// The memberships of the app.
const (
	Member   Membership = "member" // also if it is empty
	Outside  Membership = "outside"
	Archived Membership = "archived"
)

// Config is the workspace that a server serves.
type Config struct {
	Token    string                // of the app; any other is rejected
	Channels map[string]Membership // by ID; other channels do not exist
	Names    map[string]string     // ID by name, such as team-a for #team-a
	Webhooks map[string]string     // channel by path, such as /services/T0/B0/secret
	// Allowed are the control sequences that messages may contain, such as
	// <!subteam^S0123> or <https://example.com|runbook>. Elements of rich text may
	// name the channels, too.
	Allowed []string
	// Interval is the minimum time between two messages to a channel; zero: a second, as in
	// Slack; negative: none.
	Interval time.Duration
	// UpdatesPerMinute is how many calls of chat.update the workspace accepts in a minute;
	// zero: any number.
	UpdatesPerMinute int
	Now              func() time.Time // nil: time.Now
	// Record receives each message and update as a line of JSON; nil: nothing is recorded.
	Record io.Writer
}

// Server is a workspace, and the HTTP handler that serves it. It may be used by several
// goroutines at once.
type Server struct {
	config Config
	url    string // where Start serves it

	mu       sync.Mutex
	messages []*Message           // in the order of arrival
	last     map[string]time.Time // of the last message, by channel
	updates  []time.Time          // of the last minute
	requests []Request            // all of them, in order
	refusals []Refusal
	faults   func(Request) Fault
}

// New returns a handler that does not listen yet.
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
		// Close waits for requests; those that hang end when their connection is closed.
		h.CloseClientConnections()
		h.Close()
	})
	s.url = h.URL
	return s
}

// Channel creates a channel, or changes the app's membership, and gives it names, which
// other channels lose. The maps of the config are not modified.
func (s *Server) Channel(id string, m Membership, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Channels = with(s.config.Channels, id, m)
	for _, name := range names {
		s.config.Names = with(s.config.Names, name, id)
	}
}

// with returns a copy of a map with another value for a key.
func with[V any](m map[string]V, key string, value V) map[string]V {
	out := map[string]V{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// URL returns where Start serves the workspace, without a trailing slash.
func (s *Server) URL() string { return s.url }

// APIURL returns the root of the Web API, as slack.OptionAPIURL takes it.
func (s *Server) APIURL() string { return s.url + "/api/" }

// Request is a call of the API or of a webhook, whatever its response.
type Request struct {
	Number  int    `json:"number"` // of the server's requests, from 1
	Method  string `json:"method"` // chat.postMessage, chat.update or webhook
	Channel string `json:"channel"`
	Thread  string `json:"thread,omitempty"`
	TS      string `json:"ts,omitempty"` // of the message to update
	// ClientMessageID is the argument client_msg_id, which the server ignores otherwise.
	ClientMessageID string `json:"clientMessageID,omitempty"`
}

// Requests returns every request so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Message is a message in a channel.
type Message struct {
	Channel   string          `json:"channel"`
	TS        string          `json:"ts"`
	Thread    string          `json:"thread_ts,omitempty"` // the ts of the message that it replies to
	Broadcast bool            `json:"reply_broadcast,omitempty"`
	Via       string          `json:"via"` // chat.postMessage or webhook
	Text      string          `json:"text"`
	Blocks    json.RawMessage `json:"blocks,omitempty"`
	Size      Size            `json:"size"`
	// Earlier are the versions that updates replaced, oldest first.
	Earlier []Version `json:"earlier,omitempty"`
	Deleted bool      `json:"deleted,omitempty"`
}

// Version is a message before an update.
type Version struct {
	Text   string          `json:"text"`
	Blocks json.RawMessage `json:"blocks,omitempty"`
}

// Size is the size of a message in the units of Slack's limits.
type Size struct {
	Blocks     int `json:"blocks"`
	Characters int `json:"characters"` // of all blocks, including blockCost for each
}

// Messages returns all messages of all channels in the order of arrival.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Message, 0, len(s.messages))
	for _, m := range s.messages {
		all = append(all, m.clone())
	}
	return all
}

// In returns the messages of a channel without the replies.
func (s *Server) In(channel string) []Message {
	return slices.DeleteFunc(s.Messages(), func(m Message) bool { return m.Channel != channel || m.Thread != "" })
}

// Replies returns the replies to a message.
func (s *Server) Replies(channel, ts string) []Message {
	return slices.DeleteFunc(s.Messages(), func(m Message) bool { return m.Channel != channel || m.Thread != ts })
}

// Largest returns the highest number of blocks, and of characters, of any message or
// update.
func (s *Server) Largest() Size {
	s.mu.Lock()
	defer s.mu.Unlock()
	var most Size
	for _, m := range s.messages {
		most.Blocks, most.Characters = max(most.Blocks, m.Size.Blocks), max(most.Characters, m.Size.Characters)
	}
	return most
}

// Delete deletes a message as a user would, and reports whether it existed.
func (s *Server) Delete(channel, ts string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, ts)
	if m == nil || m.Deleted {
		return false
	}
	m.Deleted = true
	return true
}

// Refusal is a request that was rejected for its content, not for its rate and not by a
// fault.
type Refusal struct {
	Method  string `json:"method"`
	Channel string `json:"channel"`
	Error   string `json:"error"`  // Slack's error code, or one of the server's own
	Detail  string `json:"detail"` // for people
}

// Refusals returns the rejected requests in order.
func (s *Server) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Refusal{}, s.refusals...)
}

func (s *Server) refused(c call, p problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, Refusal{Method: c.method, Channel: c.args["channel"], Error: p.code, Detail: p.detail})
}

// find returns a message, deleted or not, or nil.
func (s *Server) find(channel, ts string) *Message {
	for _, m := range s.messages {
		if m.Channel == channel && m.TS == ts {
			return m
		}
	}
	return nil
}

func (s *Server) store(m Message) Message {
	// The number after the dot makes them unique and ordered within a second.
	m.TS = fmt.Sprintf("%d.%06d", s.config.Now().Unix(), len(s.messages)+1)
	s.messages = append(s.messages, &m)
	s.record("posted", m)
	return m.clone()
}

func (s *Server) revise(m *Message, c call, size Size) Message {
	m.Earlier = append(m.Earlier, Version{Text: m.Text, Blocks: m.Blocks})
	m.Text = c.args["text"]
	m.Size.Blocks, m.Size.Characters = max(m.Size.Blocks, size.Blocks), max(m.Size.Characters, size.Characters)
	// An update without blocks keeps the existing ones.
	if blocks, ok := c.args["blocks"]; ok {
		m.Blocks = json.RawMessage(blocks)
	}
	s.record("updated", *m)
	return m.clone()
}

func (s *Server) record(event string, m Message) {
	if s.config.Record == nil {
		return
	}
	m.Earlier = nil
	line, err := json.Marshal(struct {
		Event string `json:"event"`
		Message
	}{event, m})
	if err == nil {
		_, _ = s.config.Record.Write(append(line, '\n'))
	}
}

func (m *Message) clone() Message {
	c := *m
	c.Earlier = slices.Clone(m.Earlier)
	return c
}

package fakeslack

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serveMethod answers a call of the Web API.
func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request, method string) {
	c, p := parse(r, method)
	fault := s.arrived(c)
	if !fault.Stored && s.misbehave(w, r, fault) {
		return
	}
	var m Message
	var wait time.Duration
	if p == nil {
		m, wait, p = s.apply(c)
	}
	switch {
	case fault.Stored && s.misbehave(w, r, fault):
	case wait > 0:
		tooFast(w, wait)
	case p != nil:
		s.refused(c, *p)
		writeJSON(w, http.StatusOK, map[string]any{
			"ok": false, "error": p.code, "response_metadata": map[string]any{"messages": []string{"[ERROR] " + p.detail}},
		})
	default:
		writeJSON(w, http.StatusOK, answer(m))
	}
}

// apply checks a call and does it. A wait says that it came too early.
func (s *Server) apply(c call) (Message, time.Duration, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.token == "":
		return Message{}, 0, &problem{"not_authed", "there is no token"}
	case c.token != s.config.Token || c.token == "":
		return Message{}, 0, &problem{"invalid_auth", "it is another token"}
	}
	// A message may be posted to a name; to update it takes the ID.
	if id, ok := s.config.Names[strings.TrimPrefix(c.args["channel"], "#")]; ok && c.method == postMessage {
		c.args["channel"] = id
	}
	if p := s.reachable(c.args["channel"]); p != nil {
		return Message{}, 0, p
	}
	size, p := s.checkContent(c)
	if p != nil {
		return Message{}, 0, p
	}
	if c.method == updateMessage {
		return s.update(c, size)
	}
	return s.post(c, size)
}

// reachable refuses a channel that the app may not post into.
func (s *Server) reachable(channel string) *problem {
	switch membership, ok := s.config.Channels[channel]; {
	case !ok:
		return &problem{"channel_not_found", "no channel has the ID " + strconv.Quote(channel)}
	case membership == Outside:
		return &problem{"not_in_channel", "the app is not in " + channel}
	case membership == Archived:
		return &problem{"is_archived", channel + " is archived"}
	}
	return nil
}

func (s *Server) post(c call, size Size) (Message, time.Duration, *problem) {
	broadcast, p := c.flag("reply_broadcast")
	if p != nil {
		return Message{}, 0, p
	}
	channel, thread := c.args["channel"], c.args["thread_ts"]
	if broadcast && thread == "" {
		return Message{}, 0, &problem{"invalid_arguments", "reply_broadcast is only for a reply"}
	}
	if thread != "" {
		switch parent := s.find(channel, thread); {
		case parent == nil:
			return Message{}, 0, &problem{"thread_not_found", "no message of " + channel + " has the ts " + thread}
		case parent.Thread != "":
			return Message{}, 0, &problem{"thread_not_found", "the message " + thread + " is itself a reply"}
		case parent.Deleted:
			// Slack posts such a reply as a message of its own and says nothing.
			thread, broadcast = "", false
		}
	}
	if wait := s.tooEarly(channel); wait > 0 {
		return Message{}, wait, nil
	}
	return s.store(Message{
		Channel: channel, Thread: thread, Broadcast: broadcast, Via: c.method,
		Text: c.args["text"], Blocks: json.RawMessage(c.args["blocks"]), Size: size,
	}), 0, nil
}

func (s *Server) update(c call, size Size) (Message, time.Duration, *problem) {
	m := s.find(c.args["channel"], c.args["ts"])
	if m == nil || m.Deleted {
		return Message{}, 0, &problem{"message_not_found", "no message of " + c.args["channel"] + " has the ts " + strconv.Quote(c.args["ts"])}
	}
	if m.Via == webhook {
		return Message{}, 0, &problem{"cant_update_message", "a webhook posted it"}
	}
	if wait := s.tooManyUpdates(); wait > 0 {
		return Message{}, wait, nil
	}
	return s.revise(m, c, size), 0, nil
}

// answer is what Slack says of a message that it took.
func answer(m Message) map[string]any {
	message := map[string]any{"type": "message", "text": m.Text, "ts": m.TS, "bot_id": "B00000000"}
	if m.Thread != "" {
		message["thread_ts"] = m.Thread
	}
	if len(m.Blocks) > 0 {
		message["blocks"] = m.Blocks
	}
	return map[string]any{"ok": true, "channel": m.Channel, "ts": m.TS, "text": m.Text, "message": message}
}

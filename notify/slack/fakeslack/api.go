package fakeslack

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP serves Slack's API, and the requests that control the server.
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

// serveMethod serves a call of the Web API.
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
		writeJSON(w, http.StatusOK, accepted(m))
	}
}

// apply checks a call and carries it out. A wait means that it was rate limited.
func (s *Server) apply(c call) (Message, time.Duration, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.token == "":
		return Message{}, 0, &problem{"not_authed", "the token is missing"}
	case c.token != s.config.Token || c.token == "":
		return Message{}, 0, &problem{"invalid_auth", "the token is wrong"}
	}
	// chat.postMessage accepts the name of a channel, chat.update only the ID.
	if id, ok := s.config.Names[strings.TrimPrefix(c.args["channel"], "#")]; ok && c.method == postMessage {
		c.args["channel"] = id
	}
	if p := s.reachable(c.args["channel"]); p != nil {
		return Message{}, 0, p
	}
	size, p := checkContent(c, &s.config)
	if p != nil {
		return Message{}, 0, p
	}
	if c.method == updateMessage {
		return s.update(c, size)
	}
	return s.post(c, size)
}

// reachable rejects a channel that the app may not post to.
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
		return Message{}, 0, &problem{"invalid_arguments", "reply_broadcast requires thread_ts"}
	}
	if thread != "" {
		switch parent := s.find(channel, thread); {
		case parent == nil:
			return Message{}, 0, &problem{"thread_not_found", "no message of " + channel + " has the ts " + thread}
		case parent.Thread != "":
			return Message{}, 0, &problem{"thread_not_found", "the message " + thread + " is itself a reply"}
		case parent.Deleted:
			// Slack posts such a reply as a message of its own, without an error.
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

// accepted is the response for an accepted message.
func accepted(m Message) map[string]any {
	message := map[string]any{"type": "message", "text": m.Text, "ts": m.TS, "bot_id": "B00000000"}
	if m.Thread != "" {
		message["thread_ts"] = m.Thread
	}
	if len(m.Blocks) > 0 {
		message["blocks"] = m.Blocks
	}
	return map[string]any{"ok": true, "channel": m.Channel, "ts": m.TS, "text": m.Text, "message": message}
}

// serveWebhook serves an incoming webhook: the response is Slack's error code in plain
// text, with the HTTP status that goes with it.
func (s *Server) serveWebhook(w http.ResponseWriter, r *http.Request) {
	channel, known := s.config.Webhooks[r.URL.Path]
	c, p := parse(r, webhook)
	c.args["channel"] = channel
	fault := s.arrived(c)
	if !fault.Stored && s.misbehave(w, r, fault) {
		return
	}
	var wait time.Duration
	switch {
	case !known:
		p = &problem{"no_service", "no webhook has that path"}
	case p == nil:
		wait, p = s.applyWebhook(c)
	}
	switch {
	case fault.Stored && s.misbehave(w, r, fault):
	case wait > 0:
		tooFast(w, wait)
	case p != nil:
		s.refused(c, *p)
		word, status := webhookCode(p.code)
		plain(w, status, word)
	default:
		plain(w, http.StatusOK, "ok")
	}
}

func (s *Server) applyWebhook(c call) (time.Duration, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel := c.args["channel"]
	// A webhook belongs to a channel, and does not need a membership.
	membership, ok := s.config.Channels[channel]
	switch {
	case !ok:
		return 0, &problem{"channel_not_found", channel}
	case membership == Archived:
		return 0, &problem{"channel_is_archived", channel}
	}
	size, p := checkContent(c, &s.config)
	if p != nil {
		return 0, p
	}
	if wait := s.tooEarly(channel); wait > 0 {
		return wait, nil
	}
	s.store(Message{Channel: channel, Via: webhook, Text: c.args["text"], Blocks: json.RawMessage(c.args["blocks"]), Size: size})
	return 0, nil
}

// webhookCode returns a webhook's error code and status for an error code of the API.
func webhookCode(code string) (string, int) {
	switch code {
	case "no_service", "channel_not_found":
		return code, http.StatusNotFound
	case "channel_is_archived":
		return code, http.StatusGone
	case "invalid_blocks", "no_text":
		return code, http.StatusBadRequest
	}
	return "invalid_payload", http.StatusBadRequest
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// tooEarly returns how long a channel accepts no further message. If it accepts one now,
// tooEarly counts it.
func (s *Server) tooEarly(channel string) time.Duration {
	now := s.config.Now()
	if last, ok := s.last[channel]; ok {
		if wait := s.config.Interval - now.Sub(last); wait > 0 {
			return wait
		}
	}
	s.last[channel] = now
	return 0
}

// tooManyUpdates does the same for updates in the workspace.
func (s *Server) tooManyUpdates() time.Duration {
	now := s.config.Now()
	s.updates = slices.DeleteFunc(s.updates, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if most := s.config.UpdatesPerMinute; most > 0 && len(s.updates) >= most {
		return time.Minute - now.Sub(s.updates[0])
	}
	s.updates = append(s.updates, now)
	return 0
}

// tooFast asks the client to retry later, in whole seconds.
func tooFast(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", seconds(wait))
	writeJSON(w, http.StatusTooManyRequests, map[string]any{"ok": false, "error": "ratelimited"})
}

// seconds returns a pause as Retry-After has it.
func seconds(wait time.Duration) string {
	return strconv.Itoa(int(max((wait+time.Second-1)/time.Second, 1)))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	// The client may be gone.
	_ = json.NewEncoder(w).Encode(v)
}

// misbehave responds according to the fault. It returns false if there is none.
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f Fault) bool {
	switch {
	case f.Cut:
		// The HTTP server aborts the connection on this panic.
		panic(http.ErrAbortHandler)
	case f.Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.Status == http.StatusTooManyRequests && f.RetryAfter > 0:
		tooFast(w, f.RetryAfter)
	case f.Status != 0:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", seconds(f.RetryAfter))
		}
		if f.Error != "" {
			writeJSON(w, f.Status, map[string]any{"ok": false, "error": f.Error})
			return true
		}
		w.WriteHeader(f.Status)
	case f.Error != "":
		if _, ok := s.config.Webhooks[r.URL.Path]; ok {
			word, status := webhookCode(f.Error)
			plain(w, status, word)
			return true
		}
		writeJSON(w, http.StatusOK, map[string]any{"ok": false, "error": f.Error})
	default:
		return false
	}
	return true
}

// serveFaults lets another process inject faults: POST takes a list of them, for the next
// requests, or a single one for all requests until DELETE.
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
		http.Error(w, "the body is neither a fault nor a list of faults", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

package fakeslack

import (
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// serveWebhook answers a post to an incoming webhook: in plain text, with
// Slack's word and the HTTP status that goes with it.
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
		word, status := webhookWord(p.code)
		plain(w, status, word)
	default:
		plain(w, http.StatusOK, "ok")
	}
}

func (s *Server) applyWebhook(c call) (time.Duration, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel := c.args["channel"]
	// A webhook belongs to a channel and needs no membership.
	membership, ok := s.config.Channels[channel]
	switch {
	case !ok:
		return 0, &problem{"channel_not_found", channel}
	case membership == Archived:
		return 0, &problem{"channel_is_archived", channel}
	}
	size, p := s.checkContent(c)
	if p != nil {
		return 0, p
	}
	if wait := s.tooEarly(channel); wait > 0 {
		return wait, nil
	}
	s.store(Message{Channel: channel, Via: webhook, Text: c.args["text"], Blocks: json.RawMessage(c.args["blocks"]), Size: size})
	return 0, nil
}

// webhookWord returns the word and status of a webhook for a refusal.
func webhookWord(code string) (string, int) {
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

package fakeslack

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// tooEarly returns for how long a channel takes no further message, and counts
// the one that it does take.
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

// tooManyUpdates does the same for the updates of the workspace.
func (s *Server) tooManyUpdates() time.Duration {
	now := s.config.Now()
	s.updates = slices.DeleteFunc(s.updates, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if most := s.config.UpdatesPerMinute; most > 0 && len(s.updates) >= most {
		return time.Minute - now.Sub(s.updates[0])
	}
	s.updates = append(s.updates, now)
	return 0
}

// tooFast answers that the client shall come back later, in whole seconds.
func tooFast(w http.ResponseWriter, wait time.Duration) {
	seconds := (wait + time.Second - 1) / time.Second
	w.Header().Set("Retry-After", strconv.Itoa(int(max(seconds, 1))))
	writeJSON(w, http.StatusTooManyRequests, map[string]any{"ok": false, "error": "ratelimited"})
}

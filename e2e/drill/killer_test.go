package drill

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// killer kills a publisher at one of its steps. From then on nothing is answered.
type killer struct {
	at     int // how many steps it is let take
	strike func()

	mu    sync.Mutex
	steps int
	step  step // at which it struck; empty: it did not
}

// step is where a publisher may be killed. The time after an answer of Slack and
// before the mark of it is that before a write.
type step string

const (
	beforeWrite  step = "before a write"
	beforeSlack  step = "before a message reaches Slack"
	beforeAnswer step = "before Slack answers for what it stored"
)

// reach counts a step, and reports whether the publisher got no further.
func (k *killer) reach(s step) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.step == "" && k.steps == k.at {
		k.step = s
		k.strike()
	}
	k.steps++
	return k.step != ""
}

// struck reports whether the publisher was killed.
func (k *killer) struck() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.step != ""
}

// server stands before the API server.
func (k *killer) server(r *http.Request) kubetest.Answer {
	if writes(r) && k.reach(beforeWrite) || k.struck() {
		return kubetest.Hang()
	}
	return nil
}

// slack stands before Slack.
func (k *killer) slack(*http.Request) kubetest.Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if k.reach(beforeSlack) {
			hang(r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if k.reach(beforeAnswer) {
			hang(r)
			return
		}
		pass(answer, w)
	}
}

// hang waits for the end of whoever asked. Only once a request is read is it seen
// that they are gone.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// pass hands an answer on.
func pass(answer *httptest.ResponseRecorder, w http.ResponseWriter) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// front serves a workspace at another URL, with an answer before each request. The
// end waits for all that is under way.
func front(w *workspace, decide kubetest.Decide) (url string, end func()) {
	s := httptest.NewServer(kubetest.Disturb(w.Server, decide))
	return s.URL + "/api/", func() {
		s.CloseClientConnections()
		s.Close()
	}
}

// after lets a number of writes pass, calls a function at the next one, and answers
// neither that nor any later request.
func after(n int, strike func()) kubetest.Decide { return (&killer{at: n, strike: strike}).server }

package drill

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// victim is an installation whose publisher is ended in the middle of its work.
type victim struct {
	c      site
	binary string
	args   []string
	slack  *workspace         // nil: nobody is told
	before []v1alpha1.Finding // stored when it starts
	from   int                // how many messages Slack had then
}

// world is what there is of findings, and what became of it in Slack meanwhile.
type outcome struct {
	findings []v1alpha1.Finding
	messages []fakeslack.Message
}

// restore brings back what was stored before.
func (v *victim) restore(t *testing.T) {
	t.Helper()
	restore(t, v.c, v.before)
	if v.slack != nil {
		v.from = len(v.slack.Messages())
	}
}

// publish lets a publisher do its work undisturbed.
func (v *victim) publish(t *testing.T, args ...string) {
	t.Helper()
	if v.slack != nil {
		args = append(args, v.slack.args(v.slack.APIURL())...)
	}
	publish(t, v.c, v.binary, args...)
}

// world returns what there is now.
func (v *victim) outcome(t *testing.T) outcome {
	t.Helper()
	var w outcome
	w.findings, _ = stored(t, v.c)
	if v.slack != nil {
		w.messages = v.slack.Messages()[v.from:]
	}
	return w
}

// kill runs a publisher, kills it after so many steps, and returns at what step that
// was: at none if it ended before.
func (v *victim) kill(t *testing.T, n int) step {
	t.Helper()
	var p *process
	ready := make(chan struct{})
	k := &killer{at: n, strike: func() {
		<-ready
		// An error says that it has ended already, which its code tells too.
		_ = p.cmd.Process.Kill()
	}}
	args := append([]string{"--findings-namespace", v.c.namespace}, v.args...)
	if v.slack != nil {
		url, end := front(v.slack, k.slack)
		defer end()
		args = append(args, v.slack.args(url)...)
	}
	p = start(t, v.binary, v.c.StartProxy(t, k.server).Kubeconfig(kubetest.Guest), args...)
	close(ready)
	// One that a signal ended has no code.
	if p.end().code > 0 {
		t.Fatalf("it ended by itself: exit %d: %s\n%s", p.code, &p.errors, &p.out)
	}
	if p.code == 0 {
		return ""
	}
	return k.step
}

// check holds what a fresh run made of what an ended one left against what comes of
// an undisturbed one: the same findings, nobody told less, and nobody told again but
// what one message told that was under way.
func (v *victim) check(t *testing.T, want, left outcome) {
	t.Helper()
	got := v.outcome(t)
	if diff := cmp.Diff(withoutTimes(want.findings), withoutTimes(got.findings)); diff != "" {
		t.Errorf("findings (-undisturbed +after the end of one run and a fresh one):\n%s", diff)
	}
	v.slack.expectNoRefusals(t)
	v.checkThreads(t, got.messages)
	wanted, told := countNotices(t, want.messages), countNotices(t, got.messages)
	for n := range wanted {
		if told[n] == 0 {
			t.Errorf("%v is lost", n)
		}
	}
	again := map[string][]notice{} // by channel
	for n, times := range told {
		switch {
		case wanted[n] == 0:
			t.Errorf("%v is told, and is not so", n)
		case times > 2:
			t.Errorf("%v is told %d times", n, times)
		case times == 2:
			again[n.channel] = append(again[n.channel], n)
			if !stillPending(left.findings, n) {
				t.Errorf("%v was told and marked so, and is told again", n)
			}
		}
	}
	for channel, all := range again {
		if !slices.ContainsFunc(left.messages, func(m fakeslack.Message) bool { return containsAll(noticesIn(t, m), all) }) {
			t.Errorf("channel %s is told again what was in several messages: %v", channel, all)
		}
	}
	if t.Failed() {
		t.Logf("left behind: %q", summary(left.findings))
	}
}

// checkThreads fails the test where something does not stand beneath the message that
// told of the opening.
func (v *victim) checkThreads(t *testing.T, messages []fakeslack.Message) {
	t.Helper()
	opened := map[string][]notice{} // by message
	for _, m := range v.slack.Messages() {
		opened[m.TS] = noticesIn(t, m)
	}
	for _, m := range messages {
		for _, n := range noticesIn(t, m) {
			parent := notice{n.channel, isNew, n.host}
			if (n.what == isNew) != (m.Thread == "") || n.what != isNew && !slices.Contains(opened[m.Thread], parent) {
				t.Errorf("%v stands beneath %q", n, m.Thread)
			}
		}
	}
}

func containsAll(all, some []notice) bool {
	return !slices.ContainsFunc(some, func(n notice) bool { return !slices.Contains(all, n) })
}

// unmarked reports whether something is still to be told by what is stored.
func stillPending(findings []v1alpha1.Finding, n notice) bool {
	for _, f := range findings {
		if f.Spec.Subject.Name != n.host || f.Status == nil {
			continue
		}
		for _, m := range f.Status.Notifications {
			due := string(m.Pending)
			if m.Pending == "opened" || m.Pending == "reopened" {
				due = isNew
			}
			if channelOf(string(m.Owner)) == n.channel && due == n.what {
				return true
			}
		}
	}
	return false
}

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

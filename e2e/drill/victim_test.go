package drill

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// victim is an installation whose publisher is killed or interrupted.
type victim struct {
	c      site
	binary string
	args   []string
	slack  *workspace         // nil for no notifications
	before []v1alpha1.Finding // stored before the run
	from   int                // number of messages in Slack before the run
}

// outcome is the findings and the Slack messages after a run.
type outcome struct {
	findings []v1alpha1.Finding
	messages []fakeslack.Message
}

// restore restores the findings from before the run.
func (v *victim) restore(t *testing.T) {
	t.Helper()
	restore(t, v.c, v.before)
	if v.slack != nil {
		v.from = len(v.slack.Messages())
	}
}

// publish runs an undisturbed publisher.
func (v *victim) publish(t *testing.T, args ...string) {
	t.Helper()
	if v.slack != nil {
		args = append(args, v.slack.args(v.slack.APIURL())...)
	}
	publish(t, v.c, v.binary, args...)
}

// outcome returns the current findings and new messages.
func (v *victim) outcome(t *testing.T) outcome {
	t.Helper()
	var w outcome
	w.findings, _ = stored(t, v.c)
	if v.slack != nil {
		w.messages = v.slack.Messages()[v.from:]
	}
	return w
}

// kill runs a publisher, kills it after n steps, and returns the step at which it was
// killed, or none if it ended before.
func (v *victim) kill(t *testing.T, n int) step {
	t.Helper()
	k := &killer{at: n}
	p, end := v.start(t, k, func(p *process) {
		// An error means that it has already ended.
		_ = p.cmd.Process.Kill()
	})
	defer end()
	// The exit code is -1 after a signal.
	if p.end().code > 0 {
		t.Fatalf("it ended by itself: exit %d: %s\n%s", p.code, &p.errors, &p.out)
	}
	if p.code == 0 {
		return ""
	}
	return k.step
}

// pause runs a publisher, stops it with SIGSTOP after n steps of telling owners, and lets it
// go on after during. It returns the step at which it was stopped, or none if it ended
// before.
func (v *victim) pause(t *testing.T, n int, during func()) (step, *process) {
	t.Helper()
	stopped, resume := make(chan struct{}), make(chan struct{})
	k := &killer{at: n, onlyFindings: true, resume: resume}
	p, end := v.start(t, k, func(p *process) {
		_ = p.cmd.Process.Signal(syscall.SIGSTOP) // it waits for the response
		close(stopped)
	})
	defer end()
	ended := make(chan struct{})
	go func() { p.end(); close(ended) }()
	defer func() { <-ended }()
	goOn := sync.OnceFunc(func() {
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // an error means that it has ended
		close(resume)
	})
	defer goOn()
	select {
	case <-stopped:
		during()
		goOn()
		<-ended
	case <-ended:
		if p.code != 0 {
			t.Fatalf("it ended by itself: exit %d: %s\n%s", p.code, &p.errors, &p.out)
		}
	}
	return k.step, p
}

// start runs a publisher whose steps are counted, until end is called.
func (v *victim) start(t *testing.T, k *killer, strike func(*process)) (p *process, end func()) {
	t.Helper()
	ready := make(chan struct{})
	k.strike = func() {
		<-ready
		strike(p)
	}
	args := append([]string{"--findings-namespace", v.c.namespace}, v.args...)
	end = func() {}
	if v.slack != nil {
		var url string
		url, end = front(v.slack, k.slack)
		args = append(args, v.slack.args(url)...)
	}
	p = start(t, v.binary, v.c.StartProxy(t, k.server).Kubeconfig(kubetest.Guest), args...)
	close(ready)
	return p, end
}

// check compares the outcome of the run after a killed one with that of an undisturbed
// run: the findings are the same, no notice is missing, and only the notices of the
// message in flight are duplicated.
func (v *victim) check(t *testing.T, want, left outcome) {
	t.Helper()
	got := v.outcome(t)
	if diff := cmp.Diff(withoutTimes(want.findings), withoutTimes(got.findings)); diff != "" {
		t.Errorf("findings (-undisturbed +after a killed run and the next one):\n%s", diff)
	}
	v.slack.expectNoRefusals(t)
	v.checkThreads(t, got.messages)
	wanted, sent := countNotices(t, want.messages), countNotices(t, got.messages)
	for n := range wanted {
		if sent[n] == 0 {
			t.Errorf("%v was not sent", n)
		}
	}
	again := map[string][]notice{} // by channel
	for n, times := range sent {
		switch {
		case wanted[n] == 0:
			t.Errorf("%v was sent, but not in an undisturbed run", n)
		case times > 2:
			t.Errorf("%v was sent %d times", n, times)
		case times == 2:
			again[n.channel] = append(again[n.channel], n)
			if !stillPending(left.findings, n) {
				t.Errorf("%v was recorded as sent and sent again", n)
			}
		}
	}
	for channel, all := range again {
		if !slices.ContainsFunc(left.messages, func(m fakeslack.Message) bool { return containsAll(noticesIn(t, m, left.messages), all) }) {
			t.Errorf("channel %s got notices of several messages again: %v", channel, all)
		}
	}
	if t.Failed() {
		t.Logf("left behind: %q", summary(left.findings))
	}
}

// checkThreads fails the test if a notice is not in the thread of the message that
// announced the finding.
func (v *victim) checkThreads(t *testing.T, messages []fakeslack.Message) {
	t.Helper()
	opened := map[string][]notice{} // by message
	all := v.slack.Messages()
	for _, m := range all {
		opened[m.TS] = noticesIn(t, m, all)
	}
	for _, m := range messages {
		for _, n := range noticesIn(t, m, all) {
			parent := notice{n.channel, isNew, n.host}
			if (n.what == isNew) != (m.Thread == "") || n.what != isNew && !slices.Contains(opened[m.Thread], parent) {
				t.Errorf("%v is in the thread %q", n, m.Thread)
			}
		}
	}
}

func containsAll(all, some []notice) bool {
	return !slices.ContainsFunc(some, func(n notice) bool { return !slices.Contains(all, n) })
}

// stillPending reports whether a notice is pending in the stored findings.
func stillPending(findings []v1alpha1.Finding, n notice) bool {
	for _, f := range findings {
		if f.Spec.Subject.Name != n.host || f.Status == nil {
			continue
		}
		for _, m := range f.Status.Notifications {
			event := string(m.Pending)
			if m.Pending == "opened" || m.Pending == "reopened" {
				event = isNew
			}
			if channelOf(string(m.Owner)) == n.channel && event == n.what {
				return true
			}
		}
	}
	return false
}

// killer kills a publisher at one of its steps, and then answers no more requests. With
// resume, the publisher is only stopped, and requests wait until that is closed.
type killer struct {
	at           int // number of steps before the kill
	strike       func()
	onlyFindings bool // no write of the Lease is a step
	resume       <-chan struct{}

	mu    sync.Mutex
	steps int
	step  step // at which it was killed, or empty
}

// step is a point at which a publisher can be killed. The point after a response of
// Slack and before it is recorded is before a write.
type step string

const (
	beforeWrite  step = "before a write"
	beforeSlack  step = "before a message reaches Slack"
	beforeAnswer step = "before Slack responds to a stored message"
)

// reach counts a step and reports whether the publisher has been killed.
func (k *killer) reach(s step) bool {
	k.mu.Lock()
	if k.step == "" && k.steps == k.at {
		k.step = s
		k.strike()
	}
	k.steps++
	k.mu.Unlock()
	return k.struck()
}

// struck reports whether the publisher has been killed. If it is stopped, it waits.
func (k *killer) struck() bool {
	k.mu.Lock()
	struck := k.step != ""
	k.mu.Unlock()
	if struck && k.resume != nil {
		<-k.resume
		return false
	}
	return struck
}

// server handles requests to the API server.
func (k *killer) server(r *http.Request) kubetest.Answer {
	is := writes(r) && (!k.onlyFindings || strings.Contains(r.URL.Path, "/findings"))
	if is && k.reach(beforeWrite) || k.struck() {
		return kubetest.Hang()
	}
	return nil
}

// slack handles requests to Slack.
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

// hang waits until the client is gone, which the server only notices once it has read
// the request.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// pass writes a recorded response.
func pass(answer *httptest.ResponseRecorder, w http.ResponseWriter) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// front serves a workspace at another URL and asks decide for each request. end waits
// for requests in flight.
func front(w *workspace, decide kubetest.Decide) (url string, end func()) {
	s := httptest.NewServer(kubetest.Disturb(w.Server, decide))
	return s.URL + "/api/", func() {
		s.CloseClientConnections()
		s.Close()
	}
}

// after forwards n writes, calls strike at the next one, and answers neither that nor
// any later request.
func after(n int, strike func()) kubetest.Decide { return (&killer{at: n, strike: strike}).server }

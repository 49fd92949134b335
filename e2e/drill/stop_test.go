package drill

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// short makes a publisher detect within seconds that it lost the lease.
var short = []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"}

// TestServerStops stops the API server while a publisher works, and starts it again. The
// program reports the lost lease and exits with 3, and the next sweep completes the
// findings and notifications.
func TestServerStops(t *testing.T) {
	for _, row := range []struct {
		name string
		run  func(t *testing.T, v *victim, stop func()) *process
		left func(t *testing.T, left outcome)
	}{
		{"while findings are written", stopAfterWrites, func(t *testing.T, left outcome) {
			if len(left.findings) == 0 || len(left.messages) > 0 {
				t.Errorf("it stopped before the first finding or after the last one: %d messages", len(left.messages))
			}
		}},
		{"while owners are notified", stopAfterMessage, func(t *testing.T, left outcome) {
			n := 0
			for sent := range countNotices(t, left.messages) {
				if stillPending(left.findings, sent) {
					n++
				}
			}
			if n == 0 {
				t.Error("every sent message is recorded")
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := published(t, kubetest.Guest)
			v := &victim{c: c, binary: build(t, c), slack: newWorkspace(t)}
			applyClaims(t, c, first)
			v.publish(t)
			want := v.outcome(t)
			v.restore(t)

			began := time.Now()
			run := row.run(t, v, stopping(t, c))
			t.Logf("exit %d after %v:\n%s", run.code, time.Since(began).Round(time.Millisecond), &run.errors)
			line := regexp.MustCompile(`(?m)^audit: publish findings: the lease was lost: renewing it failed: .*refused$`)
			if run.code != 3 || !line.MatchString(run.errors.String()) {
				t.Errorf("exit %d; the standard error does not match %s:\n%s", run.code, line, &run.errors)
			}
			if err := c.StopServer(); err != nil { // wait for the stop that has begun
				t.Fatal(err)
			}
			if err := c.StartServer(t.Context()); err != nil {
				t.Fatal(err)
			}
			left := v.outcome(t)
			t.Logf("left behind: %q, %d messages", summary(left.findings), len(left.messages))
			if cmp.Equal(withoutTimes(want.findings), withoutTimes(left.findings)) {
				t.Error("the stopped publisher left nothing to do")
			}
			row.left(t, left)

			v.publish(t, short...)
			v.check(t, want, left)
		})
	}
}

// stopping returns a function that stops the API server once. The server is started again
// when the test ends, because other tests need it.
func stopping(t *testing.T, c site) func() {
	t.Cleanup(func() {
		if err := c.StartServer(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return sync.OnceFunc(func() {
		if err := c.StopServer(); err != nil {
			t.Error(err)
		}
	})
}

// stopAfterWrites runs a publisher and stops the API server after the lease and three
// writes of findings. The proxy that counts the writes stops as well.
func stopAfterWrites(t *testing.T, v *victim, stop func()) *process {
	const answered = 4
	started := make(chan *kubetest.Proxy, 1)
	stopped := make(chan struct{})
	p := v.c.StartProxy(t, after(answered, func() {
		go func() {
			defer close(stopped)
			if err := (<-started).Close(); err != nil {
				t.Error(err)
			}
			stop()
		}()
	}))
	started <- p
	run := start(t, v.binary, p.Kubeconfig(kubetest.Guest), append(v.slack.args(v.slack.APIURL()), short...)...).end()
	<-stopped
	return run
}

// stopAfterMessage runs a publisher and stops the API server when Slack has stored the
// first message and not yet responded.
func stopAfterMessage(t *testing.T, v *victim, stop func()) *process {
	url, end := front(v.slack, func(*http.Request) kubetest.Answer {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			stop()
			pass(answer, w)
		}
	})
	defer end()
	return start(t, v.binary, v.c.Kubeconfig(kubetest.Guest), append(v.slack.args(url), short...)...).end()
}

package drill

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/kube/kubetest"
)

// TestServerStopsWhilePublishing lets the API server be gone for a publisher after
// some of its writes: connections break and new ones are refused, as when it is
// stopped. The program says so and exits 3, and the next sweep sets all right.
func TestServerStopsWhilePublishing(t *testing.T) {
	c := published(t, kubetest.Guest)
	binary := build(t, c)
	short := []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"}
	lay(t, c, first)
	publish(t, c, binary)
	want, _ := stored(t, c)
	restore(t, c, nil)

	// The lease, four findings, and so at least one that has no status yet.
	const answered = 6
	started := make(chan *kubetest.Proxy, 1)
	stopped := make(chan struct{})
	p := c.StartProxy(t, after(answered, func() {
		go func() {
			defer close(stopped)
			if err := (<-started).Close(); err != nil {
				t.Error(err)
			}
		}()
	}))
	started <- p
	began := time.Now()
	run := start(t, binary, p.Kubeconfig(kubetest.Guest), short...).end()
	<-stopped
	t.Logf("exit %d after %v:\n%s", run.code, time.Since(began).Round(time.Millisecond), &run.errors)
	line := regexp.MustCompile(`^audit: publish: the lease is lost: it could not be renewed: .*refused\n$`)
	if run.code != 3 || !line.MatchString(run.errors.String()) {
		t.Errorf("exit %d; the standard error does not match %s:\n%s", run.code, line, &run.errors)
	}
	left, _ := stored(t, c)
	t.Logf("left behind: %q", summary(left))
	if len(left) == 0 || cmp.Equal(timeless(want), timeless(left)) {
		t.Error("it stopped before the first finding or after the last")
	}

	publish(t, c, binary, short...)
	got, _ := stored(t, c)
	if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
		t.Errorf("findings (-undisturbed +after the server came back):\n%s", diff)
	}
}

package drill

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/kubetest"
)

// first are the claims of a cluster in which nothing is stored yet, and then what
// becomes of them: one host stays as it is, two are let go of, one is claimed by a
// third team, and one more is contested.
var (
	first = claims{"left": hosts(0, 5), "right": hosts(0, 4), "third": nil}
	then  = claims{"left": hosts(0, 5), "right": {hosts(0, 1)[0], hosts(3, 4)[0], hosts(4, 5)[0]}, "third": hosts(3, 4)}
)

// crashes is a world in which a publisher is killed, and what it works on.
type crashes struct {
	c      *kubetest.Cluster
	binary string
	args   []string
	before []v1alpha1.Finding // stored when it starts

	bare, torn int // how many findings were left so
}

// TestKilledAtEveryWrite kills a publisher with -9 before each of its writes gets
// to the API server, the first being to take the Lease and the last to give it back,
// and holds what a fresh run leaves against what an undisturbed run does.
func TestKilledAtEveryWrite(t *testing.T) {
	c := published(t, kubetest.Guest)
	w := &crashes{c: c, binary: build(t, c)}
	lay(t, c, first)
	w.everyWrite(t, "while it creates", 2*4+2)
	w.before, _ = stored(t, c)
	lay(t, c, then)
	w.everyWrite(t, "while it updates", 2)

	t.Logf("%d findings were left bare and %d with the labels of another state", w.bare, w.torn)
	if w.bare == 0 || w.torn == 0 {
		t.Error("no run was killed between two writes of one finding")
	}
}

// everyWrite kills a publisher before its first write, its second and so on, until
// one has no more writes to be killed at. They are so many at least.
func (w *crashes) everyWrite(t *testing.T, name string, least int) {
	t.Helper()
	restore(t, w.c, w.before)
	publish(t, w.c, w.binary)
	want, _ := stored(t, w.c)
	for n := 0; ; n++ {
		restore(t, w.c, w.before)
		left, killed := w.kill(t, n)
		if !killed {
			if n < least {
				t.Errorf("%s: there are %d writes to be killed at, fewer than %d", name, n, least)
			}
			t.Logf("%s: killed at each of %d writes", name, n)
			return
		}
		t.Run(fmt.Sprintf("%s, after %d writes", name, n), func(t *testing.T) {
			holder := freeLease(t, w.c)
			if (holder != "") != (n > 0) {
				t.Errorf("%q has the lease after %d writes", holder, n)
			}
			publish(t, w.c, w.binary)
			got, _ := stored(t, w.c)
			if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
				t.Errorf("findings (-undisturbed +after the crash and a fresh run):\n%s", diff)
			}
			if t.Failed() {
				t.Logf("left behind: %s", summary(left))
			}
		})
	}
}

// kill runs a publisher, kills it after so many writes, and returns what it left
// behind. It reports false if it ended before that.
func (w *crashes) kill(t *testing.T, n int) (left []v1alpha1.Finding, killed bool) {
	t.Helper()
	var p *process
	ready := make(chan struct{})
	at := w.c.StartProxy(t, after(n, func() {
		<-ready
		// An error says that it has ended already, which its code tells too.
		_ = p.cmd.Process.Kill()
	}))
	p = start(t, w.binary, at.Kubeconfig(kubetest.Guest), w.args...)
	close(ready)
	// One that a signal ended has no code.
	if p.end().code > 0 {
		t.Fatalf("it ended by itself: exit %d: %s\n%s", p.code, &p.errors, &p.out)
	}
	left, _ = stored(t, w.c)
	for _, f := range left {
		switch {
		case f.Status == nil:
			w.bare++
		case f.Labels["state"] != string(f.Status.State):
			w.torn++
		}
	}
	return left, p.code < 0
}

// summary is a line on each finding, with what somebody may have left half done.
func summary(findings []v1alpha1.Finding) []string {
	var lines []string
	for _, f := range findings {
		state := "bare"
		if f.Status != nil {
			state = string(f.Status.State)
		}
		lines = append(lines, f.Spec.Subject.Name+" is "+state+", labelled "+f.Labels["state"])
	}
	slices.Sort(lines)
	return lines
}

// TestKilledBetweenLabelAndStatus: the labels of a finding come before its status,
// and the world may turn back before the next run. Then the labels must turn back too.
func TestKilledBetweenLabelAndStatus(t *testing.T) {
	c := published(t, kubetest.Guest)
	w := &crashes{c: c, binary: build(t, c)}
	contested, free := claims{"left": hosts(0, 1), "right": hosts(0, 1)}, claims{"right": nil}
	lay(t, c, contested)
	publish(t, c, w.binary)
	lay(t, c, free)
	const takenAndLabelled = 2
	left, killed := w.kill(t, takenAndLabelled)
	if !killed || w.torn != 1 {
		t.Fatalf("killed: %t, with %s", killed, summary(left))
	}
	freeLease(t, c)
	lay(t, c, contested)
	publish(t, c, w.binary)
	left, _ = stored(t, c)
	if diff := cmp.Diff([]string{hosts(0, 1)[0] + " is Open, labelled Open"}, summary(left)); diff != "" {
		t.Errorf("findings (-want +after a fresh run):\n%s", diff)
	}
}

// TestDeadHolderIsWaitedOut lets nobody help: a publisher that was killed has the
// lease still, and the next one takes it when its time has run out, not before.
func TestDeadHolderIsWaitedOut(t *testing.T) {
	c := published(t, kubetest.Guest)
	w := &crashes{c: c, binary: build(t, c)}
	w.args = []string{
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=1s",
	}
	lay(t, c, first)
	if left, killed := w.kill(t, 6); !killed || len(left) == 0 {
		t.Fatalf("killed: %t, with %s", killed, summary(left))
	}
	began := time.Now()
	publish(t, c, w.binary, w.args...)
	if took := time.Since(began); took < 3*time.Second || took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	left, _ := stored(t, c)
	var want []string
	for _, host := range hosts(0, 4) {
		want = append(want, host+" is Open, labelled Open")
	}
	if diff := cmp.Diff(want, summary(left)); diff != "" {
		t.Errorf("findings (-want +after a fresh run):\n%s", diff)
	}
}

package drill

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// first are the claims when nothing is stored yet, and changed are later claims: one
// host is released, one is claimed by a third team, and another one is contested.
var (
	first   = claims{"left": hosts(0, 4), "right": hosts(0, 3), "third": nil}
	changed = claims{"left": hosts(0, 4), "right": hosts(1, 4), "third": hosts(1, 2)}
)

// crashes are parallel installations, so that many publishers can be killed in a short
// time: most of it is spent waiting between two messages to a channel.
type crashes struct {
	victims []*victim
	want    outcome // the outcome of an undisturbed run

	mu   sync.Mutex
	left map[string]int // number of killed runs, by what they left behind
}

// TestKilledAtEveryStep kills a publisher with SIGKILL at each of its steps: before each
// write reaches the API server, from acquiring the Lease to releasing it, and before
// and after Slack stores each message. It compares the outcome of the next run with
// that of an undisturbed run.
func TestKilledAtEveryStep(t *testing.T) {
	c := published(t, kubetest.Guest)
	w := &crashes{left: map[string]int{}}
	const beside = 6
	for _, at := range c.addSites(t, kubetest.Guest, beside) {
		w.victims = append(w.victims, &victim{c: at, binary: build(t, c), slack: newWorkspace(t)})
	}
	applyClaims(t, c, first)
	// Two writes of the Lease; three findings with two writes each (object and status);
	// six notifications with three writes each (claimed, opened, details); and four
	// messages, each before and after Slack stores it.
	w.everyStep(t, "while it creates findings", 2+3*2+6*3+4*2)
	w.each(t, "publish", func(t *testing.T, v *victim) {
		v.restore(t)
		v.publish(t)
		v.before, _ = stored(t, v.c)
	})
	applyClaims(t, c, changed)
	// Seven notifications, three of them of new findings; ten messages.
	w.everyStep(t, "while it updates findings", 2+3*2+7*2+3+10*2)

	t.Logf("left behind (number of runs): %v", w.left)
	for _, what := range []string{
		string(beforeWrite), string(beforeSlack), string(beforeAnswer),
		noStatusLeft, newerLabelsLeft, pendingLeft, claimedLeft, detailsLeft, storedLeft, answeredLeft, duplicateSent,
	} {
		if w.left[what] == 0 {
			t.Errorf("no run left or did this: %s", what)
		}
	}
}

// each calls a function for each victim, in parallel.
func (w *crashes) each(t *testing.T, name string, f func(*testing.T, *victim)) {
	t.Helper()
	var wait sync.WaitGroup
	for _, v := range w.victims {
		wait.Go(func() { t.Run(name+" in "+v.c.namespace, func(t *testing.T) { f(t, v) }) })
	}
	if wait.Wait(); t.Failed() {
		t.FailNow()
	}
}

// everyStep kills a publisher at its first step, its second and so on, until the
// number of steps is exceeded. There must be at least minimum steps.
func (w *crashes) everyStep(t *testing.T, name string, minimum int) {
	t.Helper()
	one := w.victims[0]
	one.restore(t)
	one.publish(t)
	w.want = one.outcome(t)
	var next, ended atomic.Int64
	w.each(t, name, func(t *testing.T, v *victim) {
		for ended.Load() == 0 && !t.Failed() {
			n := int(next.Add(1) - 1)
			t.Run(fmt.Sprintf("after %d steps", n), func(t *testing.T) {
				if !w.killed(t, v, n) {
					ended.CompareAndSwap(0, int64(n))
				}
			})
		}
	})
	if ended.Load() < int64(minimum) {
		t.Errorf("%s: only %d steps, want at least %d", name, ended.Load(), minimum)
	}
	t.Logf("%s: killed at each of %d steps", name, ended.Load())
}

// killed kills a publisher after n steps and checks the outcome of the next run. It
// reports false if the publisher has no more steps.
func (w *crashes) killed(t *testing.T, v *victim, n int) bool {
	v.restore(t)
	step := v.kill(t, n)
	if step == "" {
		return false
	}
	left := v.outcome(t)
	holder := freeLease(t, v.c)
	if (holder != "") != (n > 0) {
		t.Errorf("%q has the lease after %d steps", holder, n)
	}
	v.publish(t)
	v.check(t, w.want, left)
	w.count(t, left, step, v.outcome(t))
	return true
}

// What a killed publisher can leave behind.
const (
	noStatusLeft    = "a finding without a status"
	newerLabelsLeft = "a finding whose labels are newer than its status"
	pendingLeft     = "a pending notification without a claim"
	claimedLeft     = "a pending notification that the killed publisher has claimed"
	detailsLeft     = "pending details of a recorded message"
	storedLeft      = "a message without a response that is not recorded"
	answeredLeft    = "a message with a response that is not recorded"
	// Not left behind, but done by the next run.
	duplicateSent = "a message that is sent again"
)

// count records what a run that was killed at a step left behind, and whether the next
// one sent a message again.
func (w *crashes) count(t *testing.T, left outcome, at step, now outcome) {
	seen := map[string]bool{string(at): true}
	for _, f := range left.findings {
		switch {
		case f.Status == nil:
			seen[noStatusLeft] = true
			continue
		case labelsDiffer(f):
			seen[newerLabelsLeft] = true
		}
		for _, m := range f.Status.Notifications {
			seen[pendingLeft] = seen[pendingLeft] || m.Pending != "" && m.ClaimedBy == ""
			seen[claimedLeft] = seen[claimedLeft] || m.Pending != "" && m.ClaimedBy != ""
			seen[detailsLeft] = seen[detailsLeft] || m.Pending == "details"
		}
	}
	for n := range countNotices(t, left.messages) {
		if stillPending(left.findings, n) {
			seen[storedLeft] = seen[storedLeft] || at == beforeAnswer
			seen[answeredLeft] = seen[answeredLeft] || at == beforeWrite
		}
	}
	for _, times := range countNotices(t, now.messages) {
		seen[duplicateSent] = seen[duplicateSent] || times > 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, is := range seen {
		if is {
			w.left[what]++
		}
	}
}

// labelsDiffer reports whether the labels of a finding, which are written first, have
// another state or other owners than its status.
func labelsDiffer(f v1alpha1.Finding) bool {
	owners := 0
	for key := range f.Labels {
		if strings.HasPrefix(key, "owner.") {
			owners++
		}
	}
	return f.Labels["state"] != string(f.Status.State) || owners != len(f.Status.Owners)
}

// summary returns a line per finding with its state and its state label.
func summary(findings []v1alpha1.Finding) []string {
	var lines []string
	for _, f := range findings {
		state := "without status"
		if f.Status != nil {
			state = string(f.Status.State)
		}
		lines = append(lines, f.Spec.Subject.Name+" is "+state+", labeled "+f.Labels["state"])
	}
	slices.Sort(lines)
	return lines
}

// TestKilledBetweenLabelAndStatus: the labels of a finding are written before its status,
// and the claims may change back before the next run. Then the labels must change
// back too.
func TestKilledBetweenLabelAndStatus(t *testing.T) {
	c := published(t, kubetest.Guest)
	v := &victim{c: c, binary: build(t, c)}
	contested, free := claims{"left": hosts(0, 1), "right": hosts(0, 1)}, claims{"right": nil}
	applyClaims(t, c, contested)
	publish(t, c, v.binary)
	applyClaims(t, c, free)
	const leaseAndLabels = 2
	step := v.kill(t, leaseAndLabels)
	left, _ := stored(t, c)
	if diff := cmp.Diff([]string{hosts(0, 1)[0] + " is Open, labeled Resolved"}, summary(left)); step != beforeWrite || diff != "" {
		t.Fatalf("killed %s; findings (-want +left behind):\n%s", step, diff)
	}
	freeLease(t, c)
	applyClaims(t, c, contested)
	publish(t, c, v.binary)
	left, _ = stored(t, c)
	if diff := cmp.Diff([]string{hosts(0, 1)[0] + " is Open, labeled Open"}, summary(left)); diff != "" {
		t.Errorf("findings (-want +after the next run):\n%s", diff)
	}
}

// TestDeadHolderIsWaitedOut: a killed publisher still has the lease, and the next one
// acquires it when it expires, not before.
func TestDeadHolderIsWaitedOut(t *testing.T) {
	c := published(t, kubetest.Guest)
	v := &victim{c: c, binary: build(t, c)}
	v.args = []string{
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=1s",
	}
	applyClaims(t, c, first)
	step := v.kill(t, 5)
	left, _ := stored(t, c)
	if step != beforeWrite || len(left) == 0 {
		t.Fatalf("killed %s, with %s", step, summary(left))
	}
	began := time.Now()
	publish(t, c, v.binary, v.args...)
	if took := time.Since(began); took < 3*time.Second || took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	left, _ = stored(t, c)
	var want []string
	for _, host := range hosts(0, 3) {
		want = append(want, host+" is Open, labeled Open")
	}
	if diff := cmp.Diff(want, summary(left)); diff != "" {
		t.Errorf("findings (-want +after the next run):\n%s", diff)
	}
}

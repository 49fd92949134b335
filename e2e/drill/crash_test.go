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

// first are the claims of a cluster in which nothing is stored yet, and then what
// becomes of them: one host is let go of, one is claimed by a third team, and one
// more is contested.
var (
	first   = claims{"left": hosts(0, 4), "right": hosts(0, 3), "third": nil}
	changed = claims{"left": hosts(0, 4), "right": hosts(1, 4), "third": hosts(1, 2)}
)

// crashes are installations side by side, so that many publishers may be killed in
// little time: most of it goes by between two messages to one channel.
type crashes struct {
	victims []*victim
	want    outcome // what an undisturbed run leaves

	mu   sync.Mutex
	left map[string]int // what runs left behind that were killed, by how many
}

// TestKilledAtEveryStep kills a publisher with -9 at each of its steps: before each of
// its writes gets to the API server, the first being to take the Lease and the last to
// give it back, and before and after Slack stores each of its messages. It holds what
// a fresh run makes of it against what comes of an undisturbed run.
func TestKilledAtEveryStep(t *testing.T) {
	c := published(t, kubetest.Guest)
	w := &crashes{left: map[string]int{}}
	const beside = 6
	for _, at := range c.addSites(t, kubetest.Guest, beside) {
		w.victims = append(w.victims, &victim{c: at, binary: build(t, c), slack: newWorkspace(t)})
	}
	applyClaims(t, c, first)
	// The Lease; three findings, each created and given a status; six marks, each
	// taken, opened and detailed; and four messages, each before and after Slack has it.
	w.everyStep(t, "while it creates", 2+3*2+6*3+4*2)
	w.each(t, "publish", func(t *testing.T, v *victim) {
		v.restore(t)
		v.publish(t)
		v.before, _ = stored(t, v.c)
	})
	applyClaims(t, c, changed)
	// Seven marks, of which three tell of what is new; ten messages.
	w.everyStep(t, "while it updates", 2+3*2+7*2+3+10*2)

	t.Logf("left behind, by how many: %v", w.left)
	for _, what := range []string{
		string(beforeWrite), string(beforeSlack), string(beforeAnswer),
		noStatusLeft, newerLabelsLeft, pendingLeft, claimedLeft, detailsLeft, storedLeft, answeredLeft, duplicateSent,
	} {
		if w.left[what] == 0 {
			t.Errorf("no run was ended so: %s", what)
		}
	}
}

// each calls a function for each victim, all at once.
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

// everyStep kills a publisher at its first step, its second and so on, until one has
// no more steps to be killed at. They are so many at least.
func (w *crashes) everyStep(t *testing.T, name string, least int) {
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
	if ended.Load() < int64(least) {
		t.Errorf("%s: there are %d steps to be killed at, fewer than %d", name, ended.Load(), least)
	}
	t.Logf("%s: killed at each of %d steps", name, ended.Load())
}

// killed kills a publisher after so many steps, and checks what a fresh one makes of
// what it left. It reports false if the publisher has no more steps.
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

// What a publisher leaves behind that was killed.
const (
	noStatusLeft    = "a finding without a status"
	newerLabelsLeft = "a finding whose labels are newer than its status"
	pendingLeft     = "something to be told that nobody has taken"
	claimedLeft     = "something to be told that the dead has taken"
	detailsLeft     = "details to be told beneath a message that is marked"
	storedLeft      = "a message whose answer did not come and that is not marked"
	answeredLeft    = "a message that was answered and is not marked"
	// Not left behind, but done by the fresh run.
	duplicateSent = "a message that is repeated"
)

// count notes what a run left behind that was killed at a step, and what the next one
// repeated of it.
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

// torn reports whether the labels of a finding, which are written first, tell of
// another state or of other owners than its status.
func labelsDiffer(f v1alpha1.Finding) bool {
	owners := 0
	for key := range f.Labels {
		if strings.HasPrefix(key, "owner.") {
			owners++
		}
	}
	return f.Labels["state"] != string(f.Status.State) || owners != len(f.Status.Owners)
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
	v := &victim{c: c, binary: build(t, c)}
	contested, free := claims{"left": hosts(0, 1), "right": hosts(0, 1)}, claims{"right": nil}
	applyClaims(t, c, contested)
	publish(t, c, v.binary)
	applyClaims(t, c, free)
	const takenAndLabelled = 2
	step := v.kill(t, takenAndLabelled)
	left, _ := stored(t, c)
	if diff := cmp.Diff([]string{hosts(0, 1)[0] + " is Open, labelled Resolved"}, summary(left)); step != beforeWrite || diff != "" {
		t.Fatalf("killed %s; findings (-want +left behind):\n%s", step, diff)
	}
	freeLease(t, c)
	applyClaims(t, c, contested)
	publish(t, c, v.binary)
	left, _ = stored(t, c)
	if diff := cmp.Diff([]string{hosts(0, 1)[0] + " is Open, labelled Open"}, summary(left)); diff != "" {
		t.Errorf("findings (-want +after a fresh run):\n%s", diff)
	}
}

// TestDeadHolderIsWaitedOut lets nobody help: a publisher that was killed has the
// lease still, and the next one takes it when its time has run out, not before.
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
		want = append(want, host+" is Open, labelled Open")
	}
	if diff := cmp.Diff(want, summary(left)); diff != "" {
		t.Errorf("findings (-want +after a fresh run):\n%s", diff)
	}
}

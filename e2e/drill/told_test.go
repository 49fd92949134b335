package drill

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// amount is how often something is done: a few times in CI, and often if AUDIT_DRILL is
// full.
func amount(few, full int) int64 {
	if os.Getenv("AUDIT_DRILL") == "full" {
		return int64(full)
	}
	return int64(few)
}

// told counts what owners were told in interrupted runs and the runs after them.
type told struct {
	mu             sync.Mutex
	runs           map[string]int // by where they were interrupted
	notices        int            // that owners must get
	again, unheard int            // copies, and messages whose responses were lost or not recorded
}

func newTold() *told { return &told{runs: map[string]int{}} }

// add counts a run that victim.check has checked: no notice is missing, and only those of a
// message whose response was lost are there twice.
func (n *told) add(t *testing.T, at step, want, left, now outcome) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runs[string(at)]++
	n.notices += len(countNotices(t, want.messages))
	for _, times := range countNotices(t, now.messages) {
		n.again += times - 1
	}
	for sent := range countNotices(t, left.messages) {
		if stillPending(left.findings, sent) {
			n.unheard++
		}
	}
}

func (n *told) String() string {
	sum := 0
	for _, runs := range n.runs {
		sum += runs
	}
	return fmt.Sprintf("%d times %v: %d notices, none lost, %d sent again, of %d whose response was lost or not recorded", sum, n.runs, n.notices, n.again, n.unheard)
}

// TestToldOnceThroughKills kills publishers with SIGKILL at random steps. The next run
// tells each owner what is missing, and again only what was not recorded.
func TestToldOnceThroughKills(t *testing.T) {
	w, counted := newCrashes(t), newTold()
	w.several(t, "kill", w.steps(t, false), amount(20, 200), func(t *testing.T, v *victim, n int) bool {
		v.restore(t)
		step := v.kill(t, n)
		if step == "" {
			return false
		}
		left := v.outcome(t)
		freeLease(t, v.c)
		v.publish(t)
		v.check(t, w.want, left)
		counted.add(t, step, w.want, left, v.outcome(t))
		return true
	})
	t.Logf("killed %v", counted)
}

// TestToldOnceThroughPauses stops publishers with SIGSTOP while they notify owners, beyond
// the Lease. Another publisher takes over meanwhile, and the stopped one goes on after it.
func TestToldOnceThroughPauses(t *testing.T) {
	w, counted := newCrashes(t), newTold()
	for _, v := range w.victims {
		v.args = short
	}
	w.several(t, "pause", w.steps(t, true), amount(4, 30), func(t *testing.T, v *victim, n int) bool {
		v.restore(t)
		var left outcome
		step, run := v.pause(t, n, func() {
			left = v.outcome(t)
			v.publish(t, short...)
		})
		if step == "" {
			return false
		}
		t.Logf("paused %s, exit %d: %s", step, run.code, &run.errors)
		now := v.outcome(t)
		left.messages = now.messages // also what it was sending
		v.check(t, w.want, left)
		counted.add(t, step, w.want, left, now)
		v.publish(t, short...)
		if more := len(v.outcome(t).messages) - len(now.messages); more > 0 {
			t.Errorf("the next run sends %d more messages", more)
		}
		return true
	})
	t.Logf("paused %v", counted)
}

// TestToldOnceThroughRaces starts two to five publishers at the same time, with nothing
// stored, with and without a Lease.
func TestToldOnceThroughRaces(t *testing.T) {
	c := published(t, swift, slow)
	applyClaims(t, c, claims{"left": hosts(0, 4), "right": hosts(0, 4)})
	sent := newDeliveries(t)
	const most, notices = 5, 4 * 2
	var alone, leased []*replica
	for i := range most {
		user := []string{swift, slow}[i%2]
		name := fmt.Sprintf("%s-%d", user, i)
		alone = append(alone, newReplica(t, c.Config(user), name, sent, noLock{}))
		leased = append(leased, newReplica(t, c.Config(user), name, sent, newLeaseLock(t, c.Config(user), name)))
	}
	alone[0].sweep(t)
	want, _ := stored(t, c)
	races := amount(8, 50)
	shared := 0
	for i := range races {
		publishers := alone
		if i%4 == 3 {
			publishers = leased
		}
		publishers = publishers[:2+i%(most-1)]
		restore(t, c, nil)
		sent.reset()
		var wait sync.WaitGroup
		for _, r := range publishers {
			wait.Go(func() { r.sweep(t) })
		}
		wait.Wait()
		got, _ := stored(t, c)
		if diff := cmp.Diff(withoutTimes(want), withoutTimes(got)); diff != "" {
			t.Errorf("findings of %d publishers (-of one +of all):\n%s", len(publishers), diff)
		}
		if n, twice := sent.count(); n != notices || twice != 0 {
			t.Errorf("%d publishers: %d notices, want %d; %d sent again", len(publishers), n, notices, twice)
		}
		if sent.check(t); t.Failed() {
			t.Fatalf("race %d of %d publishers", i, len(publishers))
		}
		if len(sent.by) > 1 {
			shared++
		}
	}
	t.Logf("raced %d times: %d notices, none lost, none sent again; in %d races several publishers sent some", races, races*notices, shared)
}

// newCrashes returns parallel installations in which nothing is stored yet, and the outcome
// of an undisturbed run.
func newCrashes(t *testing.T) *crashes {
	t.Helper()
	c := published(t, kubetest.Guest)
	w := &crashes{left: map[string]int{}}
	const beside = 6
	for _, at := range c.addSites(t, kubetest.Guest, beside) {
		w.victims = append(w.victims, &victim{c: at, binary: build(t, c), slack: newWorkspace(t)})
	}
	applyClaims(t, c, first)
	one := w.victims[0]
	one.restore(t)
	one.publish(t)
	w.want = one.outcome(t)
	return w
}

// several does something to publishers at random steps of a range, so many times. It
// draws another step if the publisher ends before.
func (w *crashes) several(t *testing.T, name string, in [2]int, times int64, do func(t *testing.T, v *victim, n int) bool) {
	t.Helper()
	var begun atomic.Int64
	w.each(t, name, func(t *testing.T, v *victim) {
		for i := begun.Add(1); i <= times && !t.Failed(); i = begun.Add(1) {
			random := rand.New(rand.NewPCG(uint64(i), 15))
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				for !t.Failed() && !do(t, v, in[0]+random.IntN(in[1]-in[0])) {
				}
			})
		}
	})
}

// steps returns the steps that can be interrupted: all of an undisturbed run or, with
// telling, those after the findings are written.
func (w *crashes) steps(t *testing.T, telling bool) [2]int {
	t.Helper()
	one, from := w.victims[0], 0
	one.restore(t)
	k := &killer{at: math.MaxInt}
	if telling {
		const objectAndStatus = 2
		k.onlyFindings, from = true, objectAndStatus*len(w.want.findings)
	}
	p, end := one.start(t, k, func(*process) {})
	defer end()
	if p.end().code != 0 || k.steps <= from {
		t.Fatalf("exit %d after %d steps: %s", p.code, k.steps, &p.errors)
	}
	return [2]int{from, k.steps}
}

package faults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

// The default numbers of runs: in memory, and in a real cluster.
const (
	fewSeeds     = "300"
	fewRealSeeds = "20"
)

// TestLawsHoldThroughFaults plays random runs, each seeded by its number, in memory.
// AUDIT_FAULT_SEEDS is the number of runs, AUDIT_FAULT_SEED the first seed.
func TestLawsHoldThroughFaults(t *testing.T) {
	const atOnce = 16 // most of a run is waiting
	first := number(t, cmp.Or(os.Getenv("AUDIT_FAULT_SEED"), "1"))
	seeds := number(t, cmp.Or(os.Getenv("AUDIT_FAULT_SEEDS"), fewSeeds))
	sum := totals{faults: map[string]int{}}
	var next, broken atomic.Uint64
	began := time.Now()
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for n := next.Add(1); n <= seeds; n = next.Add(1) {
				if !play(t, first+n-1, func(t *testing.T) *lab { return newLab(t, newMemoryCluster(t)) }, &sum) {
					broken.Add(1)
				}
			}
		})
	}
	group.Wait()
	sum.log(t, broken.Load(), seeds, time.Since(began))
}

// TestLawsHoldInARealCluster plays the first of these runs in a real cluster.
// AUDIT_FAULT_REAL_SEEDS is their number.
func TestLawsHoldInARealCluster(t *testing.T) {
	l := newRealLab(t)
	first := number(t, cmp.Or(os.Getenv("AUDIT_FAULT_SEED"), "1"))
	seeds := number(t, cmp.Or(os.Getenv("AUDIT_FAULT_REAL_SEEDS"), fewRealSeeds))
	sum := totals{faults: map[string]int{}}
	var broken uint64
	began := time.Now()
	for seed := first; seed < first+seeds; seed++ {
		if !play(t, seed, func(*testing.T) *lab { return l }, &sum) {
			broken++
		}
	}
	sum.log(t, broken, seeds, time.Since(began))
}

// play plays the run of a seed. It reports whether all laws held.
func play(t *testing.T, seed uint64, in func(*testing.T) *lab, sum *totals) bool {
	t.Helper()
	return t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
		p := newPlan(seed)
		api, slack := p.faults(seed)
		in(t).run(t, p, api, slack, sum)
	})
}

// TestSignalsWhileSlackIsSlow ends twenty publishers, one at each of as many requests,
// while Slack takes 1.5 seconds for each response. What is under way finishes within the
// grace and is recorded, so that each owner is told each event once.
func TestSignalsWhileSlackIsSlow(t *testing.T) {
	const endings = 20
	sum := totals{faults: map[string]int{}}
	var group sync.WaitGroup
	for i := range endings {
		group.Go(func() {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				p := &plan{Sweeps: 1, slow: 1500 * time.Millisecond, Acts: []act{{End: 60 + 4*i, Slow: true, World: world{
					Claims: [teams][hosts]bool{{true, true}, {true, false, true}, {false, true, true}}, Denies: [teams]int{0, 1, 2},
				}}}}
				api, slack := p.faults(uint64(i))
				newLab(t, newMemoryCluster(t)).run(t, p, api, slack, &sum)
			})
		})
	}
	group.Wait()
	t.Logf("%d messages, %d of %d notifications repeated", sum.messages, sum.duplicates, sum.notifications)
	if sum.duplicates > 0 || sum.failed == 0 {
		t.Errorf("%d repeated, and %d publishers were ended", sum.duplicates, sum.failed)
	}
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLawsHoldInRunsThatBrokeThem plays the runs in testdata. Each broke a law once, or
// would without one of the defenses.
func TestLawsHoldInRunsThatBrokeThem(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("find runs: %v", err)
	}
	l := newRealLab(t)
	sum := totals{faults: map[string]int{}}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			r, err := readRun(path)
			if err != nil {
				t.Fatal(err)
			}
			was := sum.disturbed
			l.run(t, &r.plan, r.api, r.slack, &sum)
			if sum.disturbed == was {
				t.Error("none of its faults happened")
			}
		})
	}
}

// maxClean is the maximum number of clean sweeps until there is nothing left to do: some
// findings are pending for several sweeps.
const maxClean = 6

// run plays a plan with the given faults and checks the laws.
func (l *lab) run(t *testing.T, p *plan, faults func(kubetest.Step) kubetest.Fault, slackFaults func(fakeslack.Step) fakeslack.Fault, sum *totals) {
	t.Helper()
	l.clear(t)
	s := &stage{lab: l, plan: p, clock: newClock(), slack: fakeslack.NewScript(slackFaults)}
	s.script = kubetest.NewScript(faults, mayStale(func() bool { return s.publishing.Load() }))
	s.board = newWorkspace(t, s.slack)
	s.board.before = func() {
		s.step()
		s.gate.RLock()
		defer s.gate.RUnlock()
	}
	s.faulty = l.cluster.disturbed(t, s.decide(t))
	h := &history{plan: p, board: s.board}
	for n, a := range p.Acts {
		s.act = n
		l.setWorld(t, a.World)
		s.clock.pass(a.Later)
		h.add(t, s.sweep(t, a.Change))
		// The next sweep would wait until the lease expires.
		l.freeLease(t)
	}
	for n := 0; ; n++ {
		s.act = len(p.Acts) + n
		s.clock.pass(2 * time.Hour)
		last := s.sweep(t, nil)
		h.add(t, last)
		if holder := l.freeLease(t); holder != "" {
			t.Errorf("sweep %d: the lease is not released by %s", s.act, holder)
		}
		if last.quiet() {
			break
		}
		if n == maxClean {
			t.Errorf("sweep %d: there is still something left to do", s.act)
			break
		}
	}
	h.finish(t)
	sum.add(s, h)
	if t.Failed() {
		t.Logf("save this in testdata, with a description of what went wrong at the start:\n%s", s.text(t))
	}
}

// quiet reports whether a sweep changed nothing and notified no one.
func (s *swept) quiet() bool {
	if s.err != nil || len(s.published.Deliveries) > 0 || len(s.before) != len(s.after) {
		return false
	}
	for id, was := range s.before {
		if s.after[id].Version != was.Version {
			return false
		}
	}
	return true
}

// The files of a saved run.
const (
	planFile  = "plan.json"
	apiFile   = "API server"
	slackFile = "Slack"
)

// text returns the run with all faults that happened, for testdata. It stays the same run
// when the meaning of seeds changes.
func (s *stage) text(t *testing.T) string {
	t.Helper()
	p, err := json.Marshal(s.plan)
	if err != nil {
		t.Fatal(err)
	}
	return string(txtar.Format(&txtar.Archive{Files: []txtar.File{
		{Name: planFile, Data: append(p, '\n')},
		{Name: apiFile, Data: []byte(s.script.String())},
		{Name: slackFile, Data: []byte(s.slack.String())},
	}}))
}

// run is a saved run.
type run struct {
	plan  plan
	api   func(kubetest.Step) kubetest.Fault
	slack func(fakeslack.Step) fakeslack.Fault
}

// readRun reads a saved run.
func readRun(path string) (*run, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	var r run
	for _, f := range archive.Files {
		switch f.Name {
		case planFile:
			err = json.Unmarshal(f.Data, &r.plan)
		case apiFile:
			r.api, err = kubetest.ParseScript(string(f.Data))
		case slackFile:
			r.slack, err = fakeslack.ParseScript(string(f.Data))
		default:
			err = fmt.Errorf("unknown file %q", f.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	if len(r.plan.Acts) == 0 || r.api == nil || r.slack == nil {
		return nil, fmt.Errorf("read %s: a file is missing", path)
	}
	return &r, nil
}

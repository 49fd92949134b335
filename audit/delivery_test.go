package audit_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// TestDeliveryMachine walks every order of what two publishers, a receiver and a cluster
// can do about one notification, up to a depth: publishers load, reconcile, claim, send
// and record, each by compare-and-swap on what it has loaded; they pause anywhere, are
// killed, lose writes, and their clocks differ; responses are lost; the finding is
// resolved and returns, and changes hands. In every state that is reached:
//
//   - an event is told at most once, and once more for each attempt without a recorded
//     sendOutcome: a lost response, or a publisher that was killed, or paused until another
//     one took over, between sending and recording;
//   - the owner is told of a release only if they may know of the finding;
//   - where the API server drops what a notification can do without, only the memory of
//     attempts is lost: the owner of one may not be told of its end;
//   - once nothing fails any more, one publisher tells all that is due, and then writes
//     nothing. What the owner was told last is true then, unless a publisher was paused
//     between its last look at its claim and the message, until another one took over.
func TestDeliveryMachine(t *testing.T) {
	for _, w := range []struct {
		name   string
		leased bool
		skew   time.Duration // of the second deliverer's clock
		drops  bool
		depth  int
	}{
		{"with the Lease", true, 0, false, 7},
		{"without the Lease, 11 minutes apart", false, 11 * time.Minute, false, 7},
		{"without the Lease, 11 minutes behind", false, -11 * time.Minute, false, 7},
		{"with the Lease, a day apart", true, 24 * time.Hour, false, 6},
		{"with the Lease, and fields are dropped", true, 0, true, 6},
		{"without the Lease, and fields are dropped", false, 11 * time.Minute, true, 6},
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			depth := w.depth
			if testing.Short() {
				depth -= 2
			}
			m := &deliveryMachine{t: t, visited: map[string]int{}}
			first := deliveryWorld{now: now, violated: true, owner: "team-a", drops: w.drops}
			for i := range first.publishers {
				first.publishers[i] = deliverer{name: fmt.Sprintf("p%d", i), leased: w.leased}
			}
			first.publishers[1].skew = w.skew
			m.walk(first, depth, nil)
			t.Logf("%d states", len(m.visited))
		})
	}
}

// deliveryWorld is everything that the deliveryMachine depends on. It is copied by value.
type deliveryWorld struct {
	now      time.Time
	violated bool
	owner    string
	returns  int // how often the violation came back or the owner got it back

	drops      bool // the API server drops what a notification can do without
	stored     audit.Stored
	exists     bool
	version    int
	publishers [2]deliverer

	told     string // what the receiver has for team-a, in order: "opened@life ..."
	excused  string // one of these for each attempt without a recorded outcome
	attempts bool   // an opening was ever sent, or a claim on one was lost
	late     bool   // a message was sent by a publisher that had lost its claim
	moves    int    // of the cluster
	faults   int
	ticks    int
}

// deliverer is one process. It works on what it has loaded.
type deliverer struct {
	name   string
	leased bool
	skew   time.Duration
	life   int
	loaded audit.Stored
	has    bool
	claim  audit.Claim
	event  audit.Event
	sent   sendOutcome
}

type sendOutcome int

const (
	sendNot sendOutcome = iota
	sendAccepted
	sendUnconfirmed
)

type deliveryMachine struct {
	t       *testing.T
	visited map[string]int // the depth that was left
}

func (w *deliveryWorld) key() string {
	return fmt.Sprintf("%v", *w)
}

// deliveryStep is one thing that may happen. It returns false if it can't.
type deliveryStep struct {
	name string
	do   func(w *deliveryWorld) bool
}

func (m *deliveryMachine) walk(w deliveryWorld, left int, path []string) {
	k := w.key()
	if was, ok := m.visited[k]; ok && was >= left {
		return
	}
	m.visited[k] = left
	if problem := w.broken(); problem != "" {
		m.t.Fatalf("%s\nafter %s", problem, strings.Join(path, ", "))
	}
	if problem := w.settles(); problem != "" {
		m.t.Fatalf("%s\nafter %s", problem, strings.Join(path, ", "))
	}
	if left == 0 {
		return
	}
	for _, s := range deliverySteps {
		next := w
		if s.do(&next) {
			m.walk(next, left-1, append(slices.Clip(path), s.name))
			if m.t.Failed() {
				return
			}
		}
	}
}

var deliverySteps = func() []deliveryStep {
	var out []deliveryStep
	for i := range 2 {
		p := fmt.Sprintf("p%d ", i)
		out = append(out,
			deliveryStep{p + "sweeps", func(w *deliveryWorld) bool { return w.sweep(i) }},
			deliveryStep{p + "claims", func(w *deliveryWorld) bool { return w.take(i) }},
			deliveryStep{p + "sends", func(w *deliveryWorld) bool { return w.send(i, sendAccepted) }},
			deliveryStep{p + "sends and the response is lost", func(w *deliveryWorld) bool { return w.fault() && w.send(i, sendUnconfirmed) }},
			deliveryStep{p + "records", func(w *deliveryWorld) bool { return w.record(i) }},
			deliveryStep{p + "is killed", func(w *deliveryWorld) bool { return w.fault() && w.kill(i) }},
		)
	}
	return append(out,
		deliveryStep{"10 minutes pass", func(w *deliveryWorld) bool {
			w.ticks++
			w.now = w.now.Add(10 * time.Minute)
			return w.ticks <= 2
		}},
		deliveryStep{"2 hours pass", func(w *deliveryWorld) bool {
			w.ticks++
			w.now = w.now.Add(2 * time.Hour)
			return w.ticks <= 2
		}},
		deliveryStep{"it is resolved", func(w *deliveryWorld) bool {
			w.moves++
			was := w.violated
			w.violated = false
			return was && w.moves <= 3
		}},
		deliveryStep{"it returns", func(w *deliveryWorld) bool {
			w.moves++
			w.returns++
			was := w.violated
			w.violated = true
			return !was && w.moves <= 3
		}},
		deliveryStep{"it changes hands", func(w *deliveryWorld) bool {
			w.moves++
			w.returns++
			if w.owner = "team-b"; !slices.Contains(w.stored.Owners, "team-a") {
				w.owner = "team-a"
			}
			return w.moves <= 3
		}},
	)
}()

func (w *deliveryWorld) fault() bool {
	w.faults++
	return w.faults <= 2
}

func (w *deliveryWorld) clock(i int) time.Time { return w.now.Add(w.publishers[i].skew) }

// reconcile returns what a publisher makes of what is stored.
func (w *deliveryWorld) reconcile(at time.Time) audit.Transition {
	var stored []audit.Record
	if w.exists {
		stored = []audit.Record{w.stored.Record}
	}
	f := audit.Finding{ID: "probe", Rule: "probe", Subject: rules.Subject{Kind: "Host", Name: "h"}, State: audit.StateOpen, Owners: []string{w.owner}}
	ev := &audit.Evaluation{Rules: []audit.Outcome{{Rule: "probe", Status: audit.RuleRan}}}
	if w.violated {
		ev.Findings = append(ev.Findings, f)
	}
	r := audit.Reconciler{
		Now: at, Keep: 1000 * time.Hour, Hold: func(string) audit.Hold { return audit.Hold{} },
		Senders: func(_, owner string) []string { return []string{"slack"} },
	}
	all := r.Reconcile(stored, ev)
	if len(all) == 0 {
		return audit.Transition{}
	}
	return all[0]
}

func (w *deliveryWorld) put(r audit.Record) {
	w.version++
	w.exists = true
	if w.drops {
		r.Notifications = slices.Clone(r.Notifications)
		for i := range r.Notifications {
			n := &r.Notifications[i]
			n.Attempt, n.Error, n.Claim.WithLease = audit.Attempt{}, "", false
		}
	}
	w.stored = audit.Stored{Record: r, Version: fmt.Sprint(w.version)}
}

// sweep lets an idle publisher load, reconcile and store. It still has what it loaded.
func (w *deliveryWorld) sweep(i int) bool {
	p := &w.publishers[i]
	if p.claim.By != "" {
		return false
	}
	if t := w.reconcile(w.clock(i)); t.Write {
		w.put(t.Record)
	}
	was := p.loaded
	p.loaded, p.has = w.stored, w.exists
	return w.exists && (p.loaded.Version != was.Version || p.event != "")
}

// mine is what is stored for team-a, as one publisher has loaded it.
func mine(r *audit.Record) audit.Notification { return r.Notification("slack", "team-a") }

// take claims what is pending. Another deliverer may have been first, which it sees when
// its write conflicts.
func (w *deliveryWorld) take(i int) bool {
	p := &w.publishers[i]
	if !p.has || p.claim.By != "" {
		return false
	}
	n := mine(&p.loaded.Record)
	c := audit.Claim{By: fmt.Sprint(p.name, "-", p.life), At: w.clock(i), WithLease: p.leased}
	event := n.Pending
	take := func() bool {
		n = mine(&p.loaded.Record)
		return p.loaded.DampedUntil(&n, w.clock(i)).IsZero() && n.Take(event, c, 0, w.clock(i))
	}
	if event == "" || !take() {
		return false
	}
	if p.loaded.Version != w.stored.Version {
		p.loaded = w.stored
		if !take() {
			return false
		}
	}
	w.replaced(&w.stored.Record)
	r := w.stored.Record
	r.SetNotification(n)
	w.put(r)
	p.loaded, p.claim, p.event, p.sent = w.stored, c, event, sendNot
	return true
}

// replaced excuses a copy if a claim that is taken over has sent something.
func (w *deliveryWorld) replaced(r *audit.Record) {
	held := mine(r).Claim
	for i := range w.publishers {
		if p := &w.publishers[i]; p.claim.Is(held) {
			if opens(p.event) {
				w.attempts = true
			}
			w.excused += string(p.event) + " "
		}
	}
}

func opens(e audit.Event) bool { return e == audit.EventOpened || e == audit.EventReopened }

func (w *deliveryWorld) send(i int, how sendOutcome) bool {
	p := &w.publishers[i]
	if p.claim.By == "" || p.sent != sendNot {
		return false
	}
	p.sent = how
	w.told += fmt.Sprintf("%s@%d ", p.event, w.returns)
	w.attempts = w.attempts || opens(p.event)
	n := mine(&w.stored.Record)
	w.late = w.late || !n.Claim.Is(p.claim)
	if how == sendUnconfirmed {
		w.excused += string(p.event) + " "
	}
	return true
}

// record stores the outcome, or gives up the claim if nothing was sent.
func (w *deliveryWorld) record(i int) bool {
	p := &w.publishers[i]
	if p.claim.By == "" {
		return false
	}
	r := w.stored.Record
	if n := mine(&r); p.move(&n, w.clock(i)) {
		r.SetNotification(n)
		w.put(r)
	}
	p.loaded, p.claim, p.event, p.sent = w.stored, audit.Claim{}, "", sendNot
	return true
}

func (p *deliverer) move(n *audit.Notification, at time.Time) bool {
	switch p.sent {
	case sendAccepted:
		return n.Sent(p.event, "", p.claim, at, "")
	case sendUnconfirmed:
		return n.Unconfirmed(p.event, "id", "EOF", p.claim, at)
	}
	return n.Release(p.claim)
}

// kill ends a publisher, which is started again.
func (w *deliveryWorld) kill(i int) bool {
	p := &w.publishers[i]
	if p.claim.By == "" {
		return false
	}
	if p.sent == sendAccepted {
		w.excused += string(p.event) + " "
	}
	w.attempts = w.attempts || opens(p.event)
	*p = deliverer{name: p.name, leased: p.leased, skew: p.skew, life: p.life + 1}
	return true
}

// broken returns which law of every state is broken.
func (w *deliveryWorld) broken() string {
	times := map[string]int{}
	for _, e := range strings.Fields(w.told) {
		times[e]++
		if strings.HasPrefix(e, string(audit.EventReleased)) && !w.attempts {
			return "released, and never told: " + w.told
		}
	}
	copies := map[string]int{}
	for _, e := range slices.Sorted(maps.Keys(times)) {
		event, _, _ := strings.Cut(e, "@")
		copies[event] += times[e] - 1
	}
	for event, n := range copies {
		if n > strings.Count(w.excused, event+" ") {
			return fmt.Sprintf("%s was told %d times too often, and excused are %q: %s", event, n, w.excused, w.told)
		}
	}
	return ""
}

// settles lets one publisher sweep until nothing is left to do, and returns what is wrong
// then.
func (w deliveryWorld) settles() string {
	// The others are gone, whatever they were doing.
	w.publishers[0] = deliverer{name: "last", leased: w.publishers[0].leased, life: w.publishers[0].life + w.publishers[1].life}
	w.publishers[1] = deliverer{}
	if w.clock(0).Before(w.now) {
		return ""
	}
	for range 12 {
		w.now = w.now.Add(7 * time.Hour)
		version := w.version
		w.sweep(0)
		for w.take(0) {
			w.send(0, sendAccepted)
			w.record(0)
		}
		if w.version == version {
			break
		}
	}
	n := mine(&w.stored.Record)
	if n.Claim.By != "" || n.Pending != "" {
		return fmt.Sprintf("it never settles: %+v", n)
	}
	if w.late {
		return "" // no receiver can tell that it comes too late
	}
	if w.drops && w.excused != "" {
		return "" // nothing says that the owner may know of it
	}
	last := ""
	if all := strings.Fields(w.told); len(all) > 0 {
		last, _, _ = strings.Cut(all[len(all)-1], "@")
	}
	switch owns := w.owner == "team-a"; {
	case w.violated && owns && (last == "" || last == string(audit.EventResolved) || last == string(audit.EventReleased)):
		return "it is open, and the owner was told last: " + w.told
	case (!w.violated || !owns) && last != "" && last != string(audit.EventResolved) && last != string(audit.EventReleased):
		return "it has ended, and the owner was told last: " + w.told
	}
	return ""
}

package drill

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// round is a change of claims before a sweep or, with underWay, after the slow
// publisher has read them and before it publishes.
type round struct {
	claims   claims
	underWay bool
}

// rounds returns the changes of ten hosts. They are released, claimed again and claimed
// by a third team, first between sweeps and then during sweeps.
func rounds() []round {
	return []round{
		{claims: claims{"left": hosts(0, 10), "right": hosts(0, 10), "third": nil}},
		{},
		{claims: claims{"right": hosts(5, 10)}},
		{claims: claims{"right": hosts(0, 5)}},
		{claims: claims{"third": hosts(0, 3)}},
		{claims: claims{"right": nil, "third": nil}, underWay: true},
		{claims: claims{"right": hosts(0, 10)}, underWay: true},
		{claims: claims{"third": hosts(2, 8)}, underWay: true},
		{claims: claims{"third": hosts(4, 10)}, underWay: true},
		{claims: claims{"right": nil, "third": nil}},
		{},
	}
}

// setup describes the publishers and whether they use a Lease.
type setup struct {
	name   string
	pair   bool
	leased bool
}

// TestDrill runs one or two publishers on ten contested hosts, and counts the costs and
// the results. docs/drill.md explains them.
func TestDrill(t *testing.T) {
	c := published(t, swift, slow)
	// Times have a resolution of a second. Claims that are as old as their object have
	// another cause than later ones, so the first setup would differ.
	applyClaims(t, c, claims{"left": nil, "right": nil, "third": nil})
	time.Sleep(1100 * time.Millisecond)
	results := map[string]counts{}
	setups := []setup{{"one publisher", false, true}, {"two with the Lease", true, true}, {"two without a Lease", true, false}}
	for _, s := range setups {
		results[s.name] = s.run(t, c)
	}
	t.Logf("\n%s", table(setups, results))
	one, two, without := results["one publisher"], results["two with the Lease"], results["two without a Lease"]
	// The writes of the Lease may differ.
	one.leaseWrites, two.leaseWrites = 0, 0
	if diff := cmp.Diff(one, two, cmp.AllowUnexported(counts{})); diff != "" {
		t.Errorf("counts with a Lease (-one publisher +two):\n%s", diff)
	}
	if without.stateFlapped+without.contentFlapped+without.openedTwice+without.duplicates != 0 || without.notifications != one.notifications || without.reported != one.reported {
		t.Errorf("two without a Lease: %+v", without)
	}
	if without.conflicts == 0 || without.existed == 0 {
		t.Error("the two without a Lease had no conflict")
	}
}

// run runs all rounds and returns the counts.
func (s setup) run(t *testing.T, c site) counts {
	t.Helper()
	restore(t, c, nil)
	freeLease(t, c)
	sent := newDeliveries(t)
	var b brake
	at := c.StartProxy(t, b.decide)
	lock := func(user string) audit.Lock {
		if !s.leased {
			return noLock{}
		}
		if user == slow {
			return newLeaseLock(t, at.Config(slow), slow)
		}
		return newLeaseLock(t, c.Config(swift), swift)
	}
	one := newReplica(t, c.Config(swift), swift, sent, lock(swift))
	other := newReplica(t, at.Config(slow), slow, sent, lock(slow))
	log, seen := followAuditLog(t, c), watchFindings(t, c)
	for _, r := range rounds() {
		s.play(t, c, r, one, other, &b)
		seen.endRound(t, c)
		sent.wait()
	}
	return count(t, log, seen, sent)
}

// play runs one round.
func (s setup) play(t *testing.T, c site, r round, one, other *replica, b *brake) {
	t.Helper()
	if !s.pair {
		applyClaims(t, c, r.claims)
		one.sweep(t)
		return
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	if !r.underWay {
		applyClaims(t, c, r.claims)
		wait.Go(func() { other.sweep(t) })
		one.sweep(t)
		return
	}
	reached, release := b.pull()
	wait.Go(func() { other.sweep(t) })
	await(t, "the slow publisher to finish reading", func() bool {
		select {
		case <-reached:
			return true
		default:
			return false
		}
	})
	applyClaims(t, c, r.claims)
	one.sweep(t)
	release()
}

// table returns the counts as a Markdown table.
func table(setups []setup, results map[string]counts) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	line := func(first string, cell func(counts) int) {
		fmt.Fprintf(w, "| %s", first)
		for _, s := range setups {
			fmt.Fprintf(w, "\t| %d", cell(results[s.name]))
		}
		fmt.Fprint(w, "\t|\n")
	}
	fmt.Fprint(w, "| findings")
	for _, s := range setups {
		fmt.Fprintf(w, "\t| %s", s.name)
	}
	fmt.Fprint(w, "\t|\n|---\t|---:\t|---:\t|---:\t|\n")
	line("attempted writes", func(n counts) int { return n.attempted })
	line("successful writes", func(n counts) int { return n.persisted })
	line("409 Conflict", func(n counts) int { return n.conflicts })
	line("409 AlreadyExists", func(n counts) int { return n.existed })
	line("opened twice", func(n counts) int { return n.openedTwice })
	line("state flapped A→B→A", func(n counts) int { return n.stateFlapped })
	line("content flapped A→B→A", func(n counts) int { return n.contentFlapped })
	line("notifications", func(n counts) int { return n.notifications })
	line("duplicate notifications", func(n counts) int { return n.duplicates })
	line("messages in Slack", func(n counts) int { return n.messages })
	line("reported transitions", func(n counts) int { return n.reported })
	line("writes of the Lease", func(n counts) int { return n.leaseWrites })
	w.Flush()
	return text.String()
}

// counts are the costs and the results of a setup.
type counts struct {
	attempted      int // writes of findings that reached the API server
	persisted      int // those that changed something
	conflicts      int // 409 Conflict
	existed        int // 409 AlreadyExists
	openedTwice    int // findings created more than once
	stateFlapped   int // findings whose state changed and changed back in a round
	contentFlapped int // the same for the content
	notifications  int // sent to owners
	duplicates     int
	messages       int // in Slack
	reported       int // transitions that the results of sweeps contain

	leaseWrites int
}

func count(t *testing.T, log *auditLog, seen *observations, sent *deliveries) counts {
	t.Helper()
	var n counts
	for _, user := range []string{swift, slow} {
		for _, e := range log.attempts(t, user) {
			switch {
			case e.is("leases"):
				n.leaseWrites++
				continue
			case !e.is("findings"):
				continue
			}
			n.attempted++
			switch e.ResponseStatus.Reason {
			case "Conflict":
				n.conflicts++
			case "AlreadyExists":
				n.existed++
			}
		}
	}
	n.notifications, n.duplicates = sent.count()
	n.messages, n.reported = len(sent.messages()), sent.reported
	sent.check(t)
	seen.count(&n)
	return n
}

// lag is the delay of the writes of the slow publisher.
const lag = 15 * time.Millisecond

// brake slows a publisher down: it delays every second write, so that the writes of two
// publishers interleave, and when pulled it stops the publisher between reading and
// publishing.
type brake struct {
	writes  atomic.Int64
	mu      sync.Mutex
	pulled  bool
	reached chan struct{}
	release chan struct{}
}

// pull stops the publisher before it publishes, until release is called. The channel is
// closed when it has stopped.
func (b *brake) pull() (reached <-chan struct{}, release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pulled, b.reached, b.release = true, make(chan struct{}), make(chan struct{})
	return b.reached, sync.OnceFunc(func() { close(b.release) })
}

func (b *brake) decide(r *http.Request) kubetest.Answer {
	// Publishing begins with the Lease or, without one, with reading findings.
	if !strings.Contains(r.URL.Path, "/namespaces/"+home+"/") {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pulled {
		b.pulled = false
		close(b.reached)
		return held(b.release)
	}
	if writes(r) && strings.Contains(r.URL.Path, "/findings") && b.writes.Add(1)%2 == 0 {
		return late
	}
	return nil
}

func late(w http.ResponseWriter, r *http.Request, next http.Handler) {
	time.Sleep(lag)
	next.ServeHTTP(w, r)
}

// held delays a request until release is closed.
func held(release <-chan struct{}) kubetest.Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-release:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
}

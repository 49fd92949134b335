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

// round is what becomes of the claims before a sweep, or, where it is under way,
// after the slow publisher has read them and before it publishes.
type round struct {
	claims   claims
	underWay bool
}

// rounds is the life of ten hosts. They are let go of, claimed again and claimed by
// one more, first while nobody looks and then under a publisher's hands.
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

// setUp is who publishes, and whether they take turns.
type setup struct {
	name   string
	pair   bool
	leased bool
}

// TestDrill lets publishers fight over ten contested hosts, and counts what it costs
// and what comes of it.
func TestDrill(t *testing.T) {
	c := published(t, swift, slow)
	// Times are kept in seconds. Claims that are as old as their object would have
	// another cause than later ones, and the set-up that comes first another world.
	applyClaims(t, c, claims{"left": nil, "right": nil, "third": nil})
	time.Sleep(1100 * time.Millisecond)
	results := map[string]counts{}
	setUps := []setup{{"one publisher", false, true}, {"two with the lease", true, true}, {"two without a lease", true, false}}
	for _, s := range setUps {
		results[s.name] = s.run(t, c)
	}
	t.Logf("\n%s", table(setUps, results))
	one, two, without := results["one publisher"], results["two with the lease"], results["two without a lease"]
	// What the turns themselves cost is not in question.
	one.leaseWrites, two.leaseWrites = 0, 0
	if diff := cmp.Diff(one, two, cmp.AllowUnexported(counts{})); diff != "" {
		t.Errorf("a pair with a lease is not as good as one (-one +pair):\n%s", diff)
	}
	if without.stateFlapped+without.contentFlapped+without.openedTwice+without.duplicates != 0 || without.notifications != one.notifications || without.reported != one.reported {
		t.Errorf("a pair without a lease: %+v", without)
	}
	if without.conflicts == 0 || without.existed == 0 {
		t.Error("the pair without a lease never met")
	}
}

// run plays the rounds from the start, and counts.
func (s setup) run(t *testing.T, c site) counts {
	t.Helper()
	restore(t, c, nil)
	freeLease(t, c)
	told := newDeliveries(t)
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
	one := newReplica(t, c.Config(swift), swift, told, lock(swift))
	other := newReplica(t, at.Config(slow), slow, told, lock(slow))
	log, seen := followAuditLog(t, c), watchFindings(t, c)
	for _, r := range rounds() {
		s.play(t, c, r, one, other, &b)
		seen.endRound(t, c)
	}
	return count(t, log, seen, told)
}

// play is one round.
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
	await(t, "the slow publisher to have read", func() bool {
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

// table prints the counts for people.
func table(setUps []setup, results map[string]counts) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	line := func(first string, cell func(counts) int) {
		fmt.Fprintf(w, "| %s", first)
		for _, s := range setUps {
			fmt.Fprintf(w, "\t| %d", cell(results[s.name]))
		}
		fmt.Fprint(w, "\t|\n")
	}
	fmt.Fprint(w, "| findings")
	for _, s := range setUps {
		fmt.Fprintf(w, "\t| %s", s.name)
	}
	fmt.Fprint(w, "\t|\n|---\t|---:\t|---:\t|---:\t|\n")
	line("attempted writes", func(n counts) int { return n.attempted })
	line("persisted writes", func(n counts) int { return n.persisted })
	line("409 Conflict", func(n counts) int { return n.conflicts })
	line("409 AlreadyExists", func(n counts) int { return n.existed })
	line("opened twice", func(n counts) int { return n.openedTwice })
	line("state flapped A→B→A", func(n counts) int { return n.stateFlapped })
	line("content flapped A→B→A", func(n counts) int { return n.contentFlapped })
	line("told to owners", func(n counts) int { return n.notifications })
	line("of these, told twice", func(n counts) int { return n.duplicates })
	line("messages in Slack", func(n counts) int { return n.messages })
	line("news by the results", func(n counts) int { return n.reported })
	line("writes of the Lease", func(n counts) int { return n.leaseWrites })
	w.Flush()
	return text.String()
}

// counts is what a set-up cost, and what came of it.
type counts struct {
	attempted      int // writes of findings that reached the API server
	persisted      int // of them that changed something
	conflicts      int // 409 Conflict
	existed        int // 409 AlreadyExists
	openedTwice    int // findings created more than once
	stateFlapped   int // findings whose state went from A to B and back in one round
	contentFlapped int // the same of all that a finding says
	notifications  int // what owners are told, each of them
	duplicates     int
	messages       int // that Slack holds
	reported       int // what the results of the sweeps say is new

	leaseWrites int
}

func count(t *testing.T, log *auditLog, seen *observations, told *deliveries) counts {
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
	n.notifications, n.duplicates = told.count()
	n.messages, n.reported = len(told.messages()), told.reported
	told.check(t)
	seen.count(&n)
	return n
}

// lag is how much later than the other's the writes of the slow publisher arrive.
const lag = 15 * time.Millisecond

// brake slows a publisher down: its every second write comes late, so that the two
// get in between each other's, and when the brake is pulled it stops between reading
// and publishing.
type brake struct {
	writes  atomic.Int64
	mu      sync.Mutex
	pulled  bool
	reached chan struct{}
	release chan struct{}
}

// pull stops the next publishing until release is called. The channel is closed
// once it has stopped.
func (b *brake) pull() (reached <-chan struct{}, release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pulled, b.reached, b.release = true, make(chan struct{}), make(chan struct{})
	return b.reached, sync.OnceFunc(func() { close(b.release) })
}

func (b *brake) decide(r *http.Request) kubetest.Answer {
	// To publish begins with the lease, or without one with what is stored.
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

// held answers a request once it is let go of.
func held(release <-chan struct{}) kubetest.Answer {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-release:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}
}

package drill

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
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
type setUp struct {
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
	lay(t, c, claims{"left": nil, "right": nil, "third": nil})
	time.Sleep(1100 * time.Millisecond)
	results := map[string]counts{}
	setUps := []setUp{{"one publisher", false, true}, {"two with the lease", true, true}, {"two without a lease", true, false}}
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
	if without.flapped+without.wavered+without.opened+without.toldTwice != 0 || without.told != one.told || without.believed != one.believed {
		t.Errorf("a pair without a lease: %+v", without)
	}
	if without.conflicts == 0 || without.existed == 0 {
		t.Error("the pair without a lease never met")
	}
}

// run plays the rounds from the start, and counts.
func (s setUp) run(t *testing.T, c site) counts {
	t.Helper()
	restore(t, c, nil)
	freeLease(t, c)
	told := newDeliveries(t)
	var b brake
	at := c.StartProxy(t, b.decide)
	lock := func(user string) audit.Lock {
		if !s.leased {
			return free{}
		}
		if user == slow {
			return newTurns(t, at.Config(slow), slow)
		}
		return newTurns(t, c.Config(swift), swift)
	}
	one := newReplica(t, c.Config(swift), swift, told, lock(swift))
	other := newReplica(t, at.Config(slow), slow, told, lock(slow))
	log, seen := follow(t, c), watch(t, c)
	for _, r := range rounds() {
		s.play(t, c, r, one, other, &b)
		seen.endRound(t, c)
	}
	return count(t, log, seen, told)
}

// play is one round.
func (s setUp) play(t *testing.T, c site, r round, one, other *replica, b *brake) {
	t.Helper()
	if !s.pair {
		lay(t, c, r.claims)
		one.sweep(t)
		return
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	if !r.underWay {
		lay(t, c, r.claims)
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
	lay(t, c, r.claims)
	one.sweep(t)
	release()
}

// table prints the counts for people.
func table(setUps []setUp, results map[string]counts) string {
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
	line("opened twice", func(n counts) int { return n.opened })
	line("state flapped A→B→A", func(n counts) int { return n.flapped })
	line("content flapped A→B→A", func(n counts) int { return n.wavered })
	line("told to owners", func(n counts) int { return n.told })
	line("of these, told twice", func(n counts) int { return n.toldTwice })
	line("messages in Slack", func(n counts) int { return n.messages })
	line("news by the results", func(n counts) int { return n.believed })
	line("writes of the Lease", func(n counts) int { return n.leaseWrites })
	w.Flush()
	return text.String()
}

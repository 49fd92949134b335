package audit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// claimedBy is an Ingress on one host that names its owner, created so many minutes ago.
func claimedBy(namespace, owner string, minutes int) snapshot.Ingress {
	in := ingress(namespace, "shop.example.com")
	in.Name, in.Created = "web-"+owner, now.Add(-time.Duration(minutes)*time.Minute)
	if owner != "" {
		in.Owner = snapshot.OwnerKey{Key: "owner", Value: owner}
	}
	return in
}

// ownedNamespace is a Namespace with an owner.
func ownedNamespace(name, owner string) snapshot.Namespace {
	return snapshot.Namespace{Meta: snapshot.Meta{Kind: "Namespace", Name: name, Owner: snapshot.OwnerKey{Key: "owner", Value: owner}}}
}

// crowd is many Ingresses of a shared namespace, each with an owner of its own.
func crowd(n, minutes int) []snapshot.Ingress {
	var out []snapshot.Ingress
	for i := range n {
		out = append(out, claimedBy("apps", fmt.Sprintf("aaa-%03d", i), minutes))
	}
	return out
}

// silent is a notifier that sends nothing.
type silent struct{}

func (silent) Senders(string, string) []string                          { return []string{"slack"} }
func (silent) Deliver(context.Context, []audit.Stored) []audit.Delivery { return nil }

const crowdConfig = "owners: {sharedNamespaces: [apps], fallback: platform, teams: [{name: victim}]}"

// publishCrowd publishes a sweep of some Namespaces and Ingresses.
func publishCrowd(t *testing.T, store *memory, config string, namespaces []snapshot.Namespace, ingresses []snapshot.Ingress) (audit.Record, *audit.Published) {
	t.Helper()
	facts := snapshot.Facts{Namespaces: namespaces, Ingresses: ingresses}
	w := &world{first: facts, second: facts}
	p := publisher(store, w)
	p.Reconciler.MaxNotifications = 100
	p.Notifier = func(*audit.Result) audit.Notifier { return silent{} }
	_, published, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, config), ticking(), p, free{})
	if err != nil {
		t.Fatal(err)
	}
	if len(published.Transitions) != 1 {
		t.Fatalf("%d findings", len(published.Transitions))
	}
	return published.Transitions[0].Record, published
}

// tell marks everything that is pending as sent.
func tell(store *memory) {
	for id, s := range store.records {
		s.Notifications = slices.Clone(s.Notifications)
		for i := range s.Notifications {
			n := &s.Notifications[i]
			if n.Pending != "" {
				n.Last, n.Pending, n.At = n.Pending, "", now
			}
		}
		store.records[id] = s
	}
}

func pendingOf(rec audit.Record, owner string) (audit.Notification, bool) {
	for _, n := range rec.Notifications {
		if n.Owner == owner {
			return n, true
		}
	}
	return audit.Notification{}, false
}

func TestSignaturesDoNotPushOutTheOwnerOfANamespace(t *testing.T) {
	namespaces := []snapshot.Namespace{ownedNamespace("shop", "zzz"), {Meta: snapshot.Meta{Kind: "Namespace", Name: "apps"}}}
	// The owner of the namespace comes last by name and by time.
	rec, published := publishCrowd(t, newMemory(), crowdConfig, namespaces, append(crowd(150, 60), claimedBy("shop", "", 1)))
	if n, _ := pendingOf(rec, "zzz"); n.Pending != audit.EventOpened {
		t.Errorf("the owner of the namespace: %+v", n)
	}
	if n, _ := pendingOf(rec, "platform"); n.Pending != audit.EventOpened {
		t.Errorf("the fallback owner: %+v", n)
	}
	if len(rec.Owners) != 100 || rec.MoreOwners != 52 || published.OwnersNotNotified() != 52 {
		t.Errorf("%d owners and %d more, counted as %d", len(rec.Owners), rec.MoreOwners, published.OwnersNotNotified())
	}
}

func TestSignaturesOfNobodyDoNotPushOutATeam(t *testing.T) {
	namespaces := []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: "apps"}}, ownedNamespace("elsewhere", "other-team")}
	ingresses := append(crowd(150, 60), claimedBy("apps", "victim", 1), claimedBy("apps", "other-team", 1))
	rec, _ := publishCrowd(t, newMemory(), crowdConfig, namespaces, ingresses)
	for _, team := range []string{"victim", "other-team"} {
		if !slices.Contains(rec.Owners, team) {
			t.Errorf("%s is not among the owners", team)
		}
	}
}

func TestTooManyOwnersFailTheSweep(t *testing.T) {
	for _, c := range []struct{ name, config, want string }{
		{"a fallback owner", crowdConfig, "52 of 151 owners are not notified, because a finding keeps only so many: the fallback owner, platform, is notified in their place"},
		{"no fallback owner", "owners: {sharedNamespaces: [apps]}", "50 of 150 owners are not notified, because a finding keeps only so many: set owners.fallback in the config to have someone notified in their place"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, published := publishCrowd(t, newMemory(), c.config, nil, crowd(150, 60))
			if c.name == "a fallback owner" {
				// The fallback owner is one of the hundred.
				c.want = "51 of 151 owners are not notified, because a finding keeps only so many: the fallback owner, platform, is notified in their place"
			}
			if len(published.Problems) != 1 || published.Problems[0].Reason != c.want {
				t.Errorf("problems %+v", published.Problems)
			}
		})
	}
	if _, published := publishCrowd(t, newMemory(), crowdConfig, nil, crowd(100, 60)); len(published.Problems) != 0 {
		t.Errorf("a hundred owners: %+v", published.Problems)
	}
}

func TestAnOwnerWhoIsPushedOutIsNotReleased(t *testing.T) {
	store := newMemory()
	apps := []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: "apps"}}}
	few := append(crowd(1, 60), claimedBy("apps", "zzz", 60))
	publishCrowd(t, store, crowdConfig, apps, few)
	tell(store)
	// Owners of the same right come later, however they are called.
	rec, _ := publishCrowd(t, store, crowdConfig, apps, append(crowd(150, 90), claimedBy("apps", "zzz", 60)))
	if n, _ := pendingOf(rec, "zzz"); n.Pending == audit.EventReleased || !slices.Contains(rec.Owners, "zzz") {
		t.Errorf("an owner who was there: %+v", n)
	}
	tell(store)
	// Owners of namespaces come first.
	namespaces, ingresses := apps, few
	for i := range 120 {
		name := fmt.Sprintf("ns-%03d", i)
		namespaces, ingresses = append(namespaces, ownedNamespace(name, "owner-of-"+name)), append(ingresses, claimedBy(name, "", 1))
	}
	rec, published := publishCrowd(t, store, crowdConfig, namespaces, ingresses)
	if n, _ := pendingOf(rec, "zzz"); slices.Contains(rec.Owners, "zzz") || n.Pending == audit.EventReleased {
		t.Errorf("an owner who is pushed out: %+v of %v", n, rec.Owners)
	}
	if len(rec.Notifications) > 100 {
		t.Errorf("%d notifications", len(rec.Notifications))
	}
	if len(published.Problems) != 1 {
		t.Errorf("problems: %+v", published.Problems)
	}
}

func TestManyOwnersAreWrittenOnce(t *testing.T) {
	store := newMemory()
	publishCrowd(t, store, crowdConfig, nil, crowd(150, 60))
	tell(store)
	writes := store.writes
	publishCrowd(t, store, crowdConfig, nil, crowd(150, 60))
	if store.writes != writes {
		t.Errorf("the same world is written again %d times", store.writes-writes)
	}
}

// caused is a contest that one namespace has caused.
func caused(culprit, host string, owners ...string) audit.Finding {
	f := audit.Finding{
		Rule: "probe", Subject: rules.Subject{Kind: rules.SubjectHost, Name: host}, Severity: rules.High, Message: "it is claimed twice",
		Culprit: culprit, Owners: owners, State: audit.StateOpen, FirstSeen: now,
	}
	f.ID = rules.ID(f.Rule, f.Subject)
	return f
}

func decoys(n int) []audit.Finding {
	var out []audit.Finding
	for i := range n {
		out = append(out, caused("thief", fmt.Sprintf("a%05d.example.com", i), "thief", fmt.Sprintf("accomplice-%d", i%2)))
	}
	return out
}

func TestStormOfOneNamespaceFoldsAwayNoOnlyFinding(t *testing.T) {
	ev := ran(append(decoys(600),
		caused("thief", "shop.example.com", "thief", "victim"),
		caused("other", "blog.example.com", "other", "thief"))...)
	for i := range 300 { // anyone can name any number of owners
		ev.Findings = append(ev.Findings, caused("thief", fmt.Sprintf("b%05d.example.com", i), "thief", fmt.Sprintf("sock-puppet-%d", i)))
	}
	ev.Named = map[string]bool{"thief": true, "victim": true, "other": true, "accomplice-0": true, "accomplice-1": true}
	r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }, MaxNew: 500}
	storm := 0
	for _, tr := range r.Reconcile(nil, ev) {
		if tr.Record.Storm {
			storm++
		} else if !slices.Contains([]string{"shop.example.com", "blog.example.com"}, tr.Record.Subject.Name) {
			t.Errorf("%s is not part of the storm", tr.Record.Subject.Name)
		}
	}
	if storm != 900 {
		t.Errorf("%d findings are a storm, want 900", storm)
	}
}

func TestStormOfTheClusterIsOneOfManyNamespaces(t *testing.T) {
	about := func(namespace string, n int) (out []audit.Finding) {
		for i := range n {
			f := shop()
			f.Subject = rules.Subject{Kind: rules.SubjectNamespace, Name: namespace, Detail: fmt.Sprint(i)}
			f.ID = rules.ID(f.Rule, f.Subject)
			out = append(out, f)
		}
		return out
	}
	count := func(findings []audit.Finding) (storm int) {
		r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }, MaxNew: 50}
		for _, tr := range r.Reconcile(nil, ran(findings...)) {
			storm += map[bool]int{true: 1}[tr.Record.Storm]
		}
		return storm
	}
	theft := caused("thief", "shop.example.com", "thief", "victim")
	if n := count(append(about("one", 40), append(about("two", 40), theft)...)); n != 0 {
		t.Errorf("two namespaces are a storm of %d", n)
	}
	many := []audit.Finding{theft}
	for i := range 30 {
		many = append(many, about(fmt.Sprint("ns-", i), 2)...)
	}
	if n := count(many); n != 60 {
		t.Errorf("30 namespaces are a storm of %d findings, want 60", n)
	}
}

func claiming(namespace string, age time.Duration, hosts ...string) snapshot.Ingress {
	i := ingress(namespace, "")
	i.Created, i.Hosts = now.Add(-age), nil
	for _, h := range hosts {
		i.Hosts = append(i.Hosts, snapshot.HostClaim{Host: h, Source: snapshot.FromRule})
	}
	return i
}

func decoyHosts(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s%05d.example.com", prefix, i))
	}
	return out
}

// besieged is a cluster in which one namespace contests n hosts with its accomplice, and
// a host of a victim.
func besieged(hosts []string) snapshot.Facts {
	return snapshot.Facts{
		Namespaces: []snapshot.Namespace{ownedNamespace("accomplice", "accomplice"), ownedNamespace("thief", "thief"), ownedNamespace("victim", "victim"), ownedNamespace("bystander", "bystander"), ownedNamespace("rival", "rival")},
		Ingresses: []snapshot.Ingress{
			claiming("accomplice", 3*time.Hour, hosts...),
			claiming("bystander", 3*time.Hour, "blog.example.com"),
			claiming("rival", time.Hour, "blog.example.com"),
			claiming("thief", time.Hour, append(slices.Clone(hosts), "zz.example.com")...),
			claiming("victim", 2*time.Hour, "zz.example.com"),
		},
	}
}

// siege publishes sweeps of a besieged cluster.
func siege(t *testing.T, store *memory, most int, facts snapshot.Facts) (*audit.Result, *audit.Published) {
	t.Helper()
	w := &world{first: facts, second: facts}
	p := publisher(store, w)
	p.Reconciler.MaxStored = most
	res, published, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""), ticking(), p, free{})
	if err != nil {
		t.Fatal(err)
	}
	return res, published
}

func storedHosts(store *memory) map[string]audit.State {
	out := map[string]audit.State{}
	for _, s := range store.records {
		out[s.Subject.Name+s.Subject.Detail] = s.State
	}
	return out
}

func TestDecoysBeyondTheLimitAreOneFinding(t *testing.T) {
	store := newMemory()
	facts := besieged(decoyHosts("a", 12001))
	res, _ := siege(t, store, 1000, facts)
	stored := storedHosts(store)
	// 1,000 of the thief, of which one is the victim's, one of the rival, and the count.
	if len(stored) != 1002 {
		t.Errorf("%d findings are stored", len(stored))
	}
	for _, must := range []string{"zz.example.com", "blog.example.com", "thiefmore findings"} {
		if stored[must] != audit.StateOpen {
			t.Errorf("%s is not stored", must)
		}
	}
	failures := res.Failures()
	if len(failures) != 1 || failures[0].Where != "findings of namespace thief" || !strings.HasPrefix(failures[0].Reason, "and 11002 more of one-owner-per-host") {
		t.Errorf("failures: %q", failures)
	}
	for _, f := range res.Findings {
		if f.Verdict == "too-many" && (!slices.Equal(f.Owners, []string{"accomplice", "thief"}) || !strings.Contains(f.Message, "And 11002 more of namespace thief")) {
			t.Errorf("the count goes to %q: %s", f.Owners, f.Message)
		}
	}
	writes := store.writes
	if siege(t, store, 1000, facts); store.writes != writes {
		t.Errorf("the same world is written %d times", store.writes-writes)
	}
}

func TestOnlyFindingOfAnOwnerIsStoredBeyondTheLimit(t *testing.T) {
	store := newMemory()
	siege(t, store, 10, besieged(decoyHosts("a", 40)))
	facts := besieged(decoyHosts("a", 40)) // the store is full of decoys by now
	facts.Namespaces = append(facts.Namespaces, ownedNamespace("late", "late"))
	facts.Ingresses = append(facts.Ingresses, claiming("late", 3*time.Hour, "late.example.com"))
	facts.Ingresses[3].Hosts = append(facts.Ingresses[3].Hosts, snapshot.HostClaim{Host: "late.example.com", Source: snapshot.FromRule})
	siege(t, store, 10, facts)
	if s := storedHosts(store); s["late.example.com"] != audit.StateOpen || len(s) != 10+1+1+1 {
		t.Errorf("stored are %v", s)
	}
}

// What is not stored one by one is no reason to resolve what is, and a thief that has no
// more than the limit is counted no longer.
func TestCountResolvesNothing(t *testing.T) {
	store := newMemory()
	siege(t, store, 10, besieged(decoyHosts("a", 40)))
	was := storedHosts(store)
	siege(t, store, 10, besieged(slices.Concat(decoyHosts("A", 100), decoyHosts("a", 40))))
	for name, state := range storedHosts(store) {
		if state != was[name] {
			t.Errorf("%s is %s, was %q", name, state, was[name])
		}
	}
	siege(t, store, 10, besieged(nil))
	for name, state := range storedHosts(store) {
		want := audit.StateResolved
		if name == "zz.example.com" || name == "blog.example.com" {
			want = audit.StateOpen
		}
		if state != want {
			t.Errorf("%s is %s", name, state)
		}
	}
	// Others take the place of what is resolved.
	siege(t, store, 10, besieged(decoyHosts("b", 4)))
	if s := storedHosts(store); s["b00003.example.com"] != audit.StateOpen || len(s) != 12 {
		t.Errorf("stored are %v", s)
	}
}

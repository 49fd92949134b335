package audit_test

import (
	"context"
	"fmt"
	"slices"
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

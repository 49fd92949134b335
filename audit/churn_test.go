package audit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/ownership"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// outbox is a notifier that counts the pending events and marks them as sent.
type outbox struct {
	store *memory
	sent  int
}

func (o *outbox) Senders(string, string) []string { return []string{"slack"} }

func (o *outbox) Deliver(_ context.Context, stored []audit.Stored) []audit.Delivery {
	for _, st := range stored {
		changed := false
		for _, n := range st.Notifications {
			if n.Pending == "" {
				continue
			}
			n.Last, n.Pending = n.Pending, ""
			st.SetNotification(n)
			o.sent++
			changed = true
		}
		if changed {
			if _, err := o.store.Update(context.Background(), st); err != nil {
				panic(err)
			}
		}
	}
	return nil
}

// namespace is what the facts of a namespace are made from.
type namespace struct {
	owner       string
	deployments []string
	policies    []string // that select some pods and open them
	pods        []snapshot.Pod
	workloads   []snapshot.Workload // that come and go
}

func (n namespace) facts() snapshot.Facts {
	meta := func(group, kind, name string) snapshot.Meta {
		return snapshot.Meta{Group: group, Kind: kind, Namespace: "shop", Name: name, Created: now}
	}
	ns := snapshot.Namespace{Meta: snapshot.Meta{Kind: "Namespace", Name: "shop", Created: now}}
	if n.owner != "" {
		ns.Owner = snapshot.OwnerKey{Key: "owner", Value: n.owner}
	}
	f := snapshot.Facts{Namespaces: []snapshot.Namespace{ns}, Pods: slices.Clone(n.pods), Workloads: slices.Clone(n.workloads)}
	for _, name := range n.deployments {
		f.Workloads = append(f.Workloads, snapshot.Workload{Meta: meta("apps", "Deployment", name), PodLabels: snapshot.NewLabels(map[string]string{"app": name})})
	}
	for _, name := range n.policies {
		anyone := []snapshot.Rule{{Action: snapshot.Allow, Peers: snapshot.Peers{Everyone: true}, Ports: snapshot.Ports{All: true}}}
		f.Policies = append(f.Policies, snapshot.Policy{
			Meta: meta("networking.k8s.io", "NetworkPolicy", name), Tier: snapshot.TierDefault, Isolates: [2]bool{true, true},
			Subject: snapshot.Subject{{OwnNamespace: true, Pods: snapshot.Selector{{Key: "app", Op: snapshot.In, Values: []string{"web"}}}}},
			Rules:   [2][]snapshot.Rule{anyone, anyone},
		})
	}
	return f
}

// stir replaces everything short-lived by other objects.
func (n *namespace) stir(r *rand.Rand, at time.Time, most int) {
	n.pods, n.workloads = nil, nil
	meta := func(group, kind string) snapshot.Meta {
		created := at.Add(-time.Duration(r.IntN(3600)) * time.Second)
		return snapshot.Meta{Group: group, Kind: kind, Namespace: "shop", Name: fmt.Sprintf("run-%08x", r.Uint32()), Created: created}
	}
	labels := func(name string) snapshot.Labels { return snapshot.NewLabels(map[string]string{"run": name}) }
	for range r.IntN(most) {
		m := meta("", "Pod")
		n.pods = append(n.pods, snapshot.Pod{Meta: m, Labels: labels(m.Name)})
	}
	for _, by := range []snapshot.Controller{{}, {Group: "tekton.dev", Kind: "TaskRun", Name: "build"}} {
		m := meta("", "Pod")
		n.pods = append(n.pods, snapshot.Pod{Meta: m, Labels: labels(m.Name), Controller: by})
	}
	for kind, by := range map[string]snapshot.Controller{
		"apps/ReplicaSet":        {Group: "argoproj.io", Kind: "Rollout", Name: "web"},
		"batch/Job":              {},
		"/ReplicationController": {Group: "apps.openshift.io", Kind: "DeploymentConfig", Name: "web"},
	} {
		group, kind, _ := strings.Cut(kind, "/")
		for range r.IntN(3) {
			m := meta(group, kind)
			n.workloads = append(n.workloads, snapshot.Workload{Meta: m, Controller: by, PodLabels: labels(m.Name)})
		}
	}
}

// cluster is a namespace that is swept again and again.
type cluster struct {
	namespace
	t     *testing.T
	store *memory
	sent  *outbox
	at    time.Time
	room  int // objects that the store keeps of a finding
}

func (c *cluster) sweep() (*audit.Result, *audit.Published) {
	c.t.Helper()
	c.at = c.at.Add(10 * time.Minute)
	w := &world{first: c.facts(), second: c.facts()}
	p := publisher(c.store, w)
	p.Notifier = func(*audit.Result) audit.Notifier { return c.sent }
	p.Fit = func(f audit.Finding) audit.Finding {
		f.MoreObjects = max(len(f.Objects)-c.room, 0)
		f.Objects = slices.Clone(f.Objects[:min(len(f.Objects), c.room)])
		return f
	}
	set := []*rules.Rule{isolation.Rule(), ownership.Rule()}
	res, published, err := audit.SweepAndPublish(c.t.Context(), w, set, parse(c.t, ""), func() time.Time { return c.at }, p, free{})
	if err != nil || len(published.Failed) > 0 {
		c.t.Fatal(err, published.Failed)
	}
	return res, published
}

func newCluster(t *testing.T, room int) *cluster {
	store := newMemory()
	return &cluster{
		t: t, store: store, sent: &outbox{store: store}, at: now, room: room,
		namespace: namespace{deployments: []string{"web", "api"}, policies: []string{"open"}},
	}
}

// Short-lived objects that come and go leave a finding what it is: nothing is written
// and no one is notified, however many of them the store has room for. The report of
// the sweep names those that are there.
func TestChurnIsQuiet(t *testing.T) {
	for _, room := range []int{3, 20, 1000} {
		t.Run(fmt.Sprint("room for ", room), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(room)))
			c := newCluster(t, room)
			c.stir(r, c.at, 40)
			c.sweep()
			writes, sent := c.store.writes, c.sent.sent
			if len(c.store.records) != 3 || sent != 3 {
				t.Fatalf("%d findings, %d notifications", len(c.store.records), sent)
			}
			for range 144 {
				c.stir(r, c.at, 40)
				res, published := c.sweep()
				for _, tr := range published.Transitions {
					if tr.Why != audit.ReasonConfirmed || tr.Write {
						t.Fatalf("%s is %s", tr.Record.ID, tr.Why)
					}
				}
				if room < 1000 {
					continue
				}
				pod := c.pods[0].Name
				for _, f := range res.Findings {
					if !slices.ContainsFunc(f.Objects, func(o rules.Object) bool { return o.Name == pod }) {
						t.Fatalf("%s does not name %s", f.ID, pod)
					}
				}
			}
			if c.store.writes != writes || c.sent.sent != sent {
				t.Errorf("%d writes and %d notifications", c.store.writes-writes, c.sent.sent-sent)
			}
		})
	}
}

// What matters still does amid the churn: once, and then it is quiet again.
func TestChangesAmidChurn(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*namespace)
		why    audit.Reason
		events int // for two directions of default-deny-present, and owner-known
	}{
		{"a policy comes", func(n *namespace) { n.policies = append(n.policies, "too") }, audit.ReasonChanged, 2},
		{"a policy goes", func(n *namespace) { n.policies = nil }, audit.ReasonChanged, 2},
		{"another owner", func(n *namespace) { n.owner = "team-a" }, audit.ReasonChanged, 5},
		{"a workload comes", func(n *namespace) { n.deployments = append(n.deployments, "db") }, audit.ReasonRefreshed, 0},
		{"a workload goes", func(n *namespace) { n.deployments = n.deployments[:1] }, audit.ReasonRefreshed, 0},
	} {
		for _, room := range []int{6, 1000} {
			t.Run(fmt.Sprint(c.name, ", room for ", room), func(t *testing.T) {
				r := rand.New(rand.NewPCG(2, uint64(room)))
				k := newCluster(t, room)
				k.stir(r, k.at, 40)
				k.sweep()
				sent := k.sent.sent
				c.change(&k.namespace)
				k.stir(r, k.at, 40)
				_, published := k.sweep()
				why := map[audit.Reason]int{}
				for _, tr := range published.Transitions {
					why[tr.Why]++
				}
				if why[c.why] < 2 {
					t.Errorf("transitions %v", why)
				}
				if got := k.sent.sent - sent; got != c.events {
					t.Errorf("%d notifications, want %d", got, c.events)
				}
				k.sweep() // forgets who was an owner, once they know
				writes, sent := k.store.writes, k.sent.sent
				k.stir(r, k.at, 40)
				k.sweep()
				if k.store.writes != writes || k.sent.sent != sent {
					t.Errorf("then %d writes and %d notifications", k.store.writes-writes, k.sent.sent-sent)
				}
			})
		}
	}
}

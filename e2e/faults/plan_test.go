package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// plan is a run without its faults.
type plan struct {
	Acts []act
	// Sweeps is the number of sweeps that must see a violation before it is opened.
	Sweeps int
	// Most is how many owners a finding keeps, or zero for as many as there are.
	Most int `json:",omitempty"`
	// Drop are the fields that the API server drops until the clean sweeps.
	Drop []string `json:",omitempty"`

	slow time.Duration // what a slow Slack takes, unless zero
}

// act is a sweep and the changes before it.
type act struct {
	World world
	// Change is the world after the sweep has read it and before it publishes, or nil
	// for no change.
	Change *world        `json:",omitempty"`
	Later  time.Duration // after the previous act
	// End is the number of the request at which the publisher gets a signal, Pause that of
	// the write at which it is paused until another one has taken over the Lease and has
	// published; zero: none.
	End   int           `json:",omitempty"`
	Pause int           `json:",omitempty"`
	Skew  time.Duration `json:",omitempty"` // of the publisher's clock
	Slow  bool          `json:",omitempty"` // Slack takes a while for each response

	odds  kubetest.Odds
	slack float64
}

// newPlan draws a run: possibly a clean sweep, some sweeps with faults, and clean sweeps
// at the end.
func newPlan(seed uint64) *plan {
	r := rand.New(rand.NewPCG(seed, 8))
	p := &plan{Sweeps: 1 + r.IntN(4)/3}
	w := newWorld(r)
	were := []world{w}
	change := func() {
		// Sometimes an earlier world comes back.
		if w = w.changed(r); r.IntN(3) == 0 {
			w = were[r.IntN(len(were))]
		}
		were = append(were, w)
	}
	if r.IntN(2) == 0 {
		p.Acts = append(p.Acts, act{World: w})
	}
	for range 2 + r.IntN(2) {
		if len(p.Acts) > 0 && r.IntN(4) > 0 {
			change()
		}
		a := act{World: w, Later: time.Duration(1+r.IntN(120)) * time.Minute}
		a.odds.Once = []float64{0, 0.02, 0.1, 0.3}[r.IntN(4)]
		a.odds.Always = []float64{0, 0, 0.01, 0.03, 0.1}[r.IntN(5)]
		a.slack = []float64{0, 0.1, 0.3, 0.7}[r.IntN(4)]
		if r.IntN(5) == 0 {
			change()
			changed := w
			a.Change = &changed
		}
		p.Acts = append(p.Acts, a)
	}
	p.disturb(rand.New(rand.NewPCG(seed, 9)))
	return p
}

// disturb draws what goes wrong besides requests.
func (p *plan) disturb(r *rand.Rand) {
	if r.IntN(6) == 0 {
		p.Most = 2
	}
	if r.IntN(6) == 0 {
		const of = "status.notifications[]"
		p.Drop = [][]string{
			{of + ".attempts", of + ".attemptID", of + ".attemptedAt"}, {of + ".claimedWithLease"}, {of + ".error"}, {of + ".pending"}, {"status.notifications"},
		}[r.IntN(5)]
	}
	for i := range p.Acts {
		a := &p.Acts[i]
		switch r.IntN(6) {
		case 0: // a signal that finds nothing else wrong
			a.End, a.odds, a.slack = 1+r.IntN(120), kubetest.Odds{}, 0
		case 1:
			a.End = 1 + r.IntN(120)
		case 2:
			if a.Change == nil {
				a.Pause = 1 + r.IntN(50)
			}
		}
		if r.IntN(4) == 0 {
			a.Skew = []time.Duration{-3 * time.Hour, -11 * time.Minute, 11 * time.Minute, 3 * time.Hour, 48 * time.Hour}[r.IntN(5)]
		}
		a.Slow = r.IntN(8) == 0
	}
}

// calm reports whether no request goes wrong in an act.
func (a *act) calm() bool { return a.odds == (kubetest.Odds{}) && a.slack == 0 }

// faults returns the functions that pick the faults of the run, for a seed.
func (p *plan) faults(seed uint64) (func(kubetest.Step) kubetest.Fault, func(fakeslack.Step) fakeslack.Fault) {
	odds := func(n int) kubetest.Odds {
		if n >= len(p.Acts) {
			return kubetest.Odds{}
		}
		return p.Acts[n].odds
	}
	slack := func(n int) float64 {
		if n >= len(p.Acts) {
			return 0
		}
		return p.Acts[n].slack
	}
	return kubetest.Seeded(seed, odds), fakeslack.Seeded(seed, slack)
}

const (
	teams = 3
	hosts = 4
)

func team(i int) string { return fmt.Sprintf("team-%c", 'a'+i) }

func host(i int) string { return fmt.Sprintf("host-%d.example.com", i) }

// world is the state of a cluster with a few teams that have a namespace each.
type world struct {
	// Claims are the hosts of each team.
	Claims [teams][hosts]bool
	// Denies is the number of directions with a default deny in each namespace: none,
	// Ingress, or both.
	Denies [teams]int
}

// newWorld draws a world.
func newWorld(r *rand.Rand) world {
	var w world
	for t := range teams {
		for h := range hosts {
			w.Claims[t][h] = r.IntN(2) == 0
		}
		w.Denies[t] = r.IntN(3)
	}
	return w
}

// changed returns the world with a few changes.
func (w world) changed(r *rand.Rand) world {
	for range 1 + r.IntN(3) {
		t := r.IntN(teams)
		if r.IntN(3) == 0 {
			w.Denies[t] = r.IntN(3)
			continue
		}
		h := r.IntN(hosts)
		w.Claims[t][h] = !w.Claims[t][h]
	}
	return w
}

// createNamespaces creates the namespaces with a workload each. They stay between runs.
func createNamespaces(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for i := range teams {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team(i), Labels: map[string]string{"team": team(i)}}}
		labels := map[string]string{"app": "web"}
		web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		}}
		_, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
		if err == nil {
			_, err = client.AppsV1().Deployments(team(i)).Create(t.Context(), web, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// applyWorld changes the cluster from one world to another. It may be called from another
// goroutine than the test's.
func applyWorld(t *testing.T, client kubernetes.Interface, old, now world) {
	t.Helper()
	for i := range teams {
		for h := range hosts {
			if old.Claims[i][h] == now.Claims[i][h] {
				continue
			}
			ingresses := client.NetworkingV1().Ingresses(team(i))
			web := kubetest.Ingress(host(h), "public", host(h))
			if now.Claims[i][h] {
				_, err := ingresses.Create(t.Context(), web, metav1.CreateOptions{})
				check(t, err)
				continue
			}
			check(t, ingresses.Delete(t.Context(), web.Name, metav1.DeleteOptions{}))
		}
		if old.Denies[i] == now.Denies[i] {
			continue
		}
		policies := client.NetworkingV1().NetworkPolicies(team(i))
		if err := policies.Delete(t.Context(), "deny", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			check(t, err)
		}
		if now.Denies[i] > 0 {
			_, err := policies.Create(t.Context(), denial(now.Denies[i]), metav1.CreateOptions{})
			check(t, err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// denial returns a policy that denies all traffic in the first directions.
func denial(directions int) *networkingv1.NetworkPolicy {
	all := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "deny"},
		Spec:       networkingv1.NetworkPolicySpec{PolicyTypes: all[:directions]},
	}
}

package source_test

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestLiveCustomKindsAreRead(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	populateCustom(t, c)
	t.Run("in pages", func(t *testing.T) {
		small := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{PageSize: 2}), customKinds())
		for _, r := range small.Reads() {
			if r.Status != snapshot.Listed || r.Items != len(names(r.Kind)) {
				t.Errorf("%s is %s with %d objects (%s), want %d", r.Kind, r.Status, r.Items, r.Err, len(names(r.Kind)))
			}
		}
		sameWorld(t, read(t, newSource(t, c.Config(kubetest.Admin), source.Options{PageSize: 500}), customKinds()), small)
	})
	t.Run("as they are stored", func(t *testing.T) {
		s := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{}), snapshot.PolicyKinds())
		found := 0
		for p := range s.View(snapshot.PolicyKinds()...).Policies() {
			if p.Kind != "CiliumNetworkPolicy" {
				continue
			}
			found++
			// Not so if the empty lists in it had got lost on the way.
			if want := [2]bool{true, false}; p.Isolates != want || len(p.Rules[snapshot.DirectionIngress]) > 0 {
				t.Errorf("%s isolates %v and lets through %v, want %v and nothing", p.Ref(), p.Isolates, p.Rules[snapshot.DirectionIngress], want)
			}
		}
		if found != worldSize {
			t.Errorf("%d policies of Cilium, want %d", found, worldSize)
		}
	})
	t.Run("by an account that may list nothing", func(t *testing.T) {
		for _, r := range read(t, newSource(t, c.Config(kubetest.Guest), source.Options{}), customKinds()).Reads() {
			if r.Status != snapshot.Forbidden || r.Items != 0 || !strings.HasPrefix(r.Err, `User "guest" cannot `) {
				t.Errorf("%s is %s with %d objects: %s", r.Kind, r.Status, r.Items, r.Err)
			}
		}
	})
	testDisturbed(t, c, customKinds(), "httproutes")
}

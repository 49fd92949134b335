package drill

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// TestKilledBetweenLabelAndStatus: the labels of a finding come before its status,
// and the world may turn back before the next run. Then the labels must turn back too.
func TestKilledBetweenLabelAndStatus(t *testing.T) {
	c := published(t, kubetest.Guest)
	v := &victim{c: c, binary: build(t, c)}
	contested, free := claims{"left": hosts(0, 1), "right": hosts(0, 1)}, claims{"right": nil}
	lay(t, c, contested)
	publish(t, c, v.binary)
	lay(t, c, free)
	const takenAndLabelled = 2
	step := v.kill(t, takenAndLabelled)
	left, _ := stored(t, c)
	if diff := cmp.Diff([]string{hosts(0, 1)[0] + " is Open, labelled Resolved"}, summary(left)); step != beforeWrite || diff != "" {
		t.Fatalf("killed %s; findings (-want +left behind):\n%s", step, diff)
	}
	freeLease(t, c)
	lay(t, c, contested)
	publish(t, c, v.binary)
	left, _ = stored(t, c)
	if diff := cmp.Diff([]string{hosts(0, 1)[0] + " is Open, labelled Open"}, summary(left)); diff != "" {
		t.Errorf("findings (-want +after a fresh run):\n%s", diff)
	}
}

// TestDeadHolderIsWaitedOut lets nobody help: a publisher that was killed has the
// lease still, and the next one takes it when its time has run out, not before.
func TestDeadHolderIsWaitedOut(t *testing.T) {
	c := published(t, kubetest.Guest)
	v := &victim{c: c, binary: build(t, c)}
	v.args = []string{
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=1s",
	}
	lay(t, c, first)
	step := v.kill(t, 5)
	left, _ := stored(t, c)
	if step != beforeWrite || len(left) == 0 {
		t.Fatalf("killed %s, with %s", step, summary(left))
	}
	began := time.Now()
	publish(t, c, v.binary, v.args...)
	if took := time.Since(began); took < 3*time.Second || took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	left, _ = stored(t, c)
	var want []string
	for _, host := range hosts(0, 3) {
		want = append(want, host+" is Open, labelled Open")
	}
	if diff := cmp.Diff(want, summary(left)); diff != "" {
		t.Errorf("findings (-want +after a fresh run):\n%s", diff)
	}
}
